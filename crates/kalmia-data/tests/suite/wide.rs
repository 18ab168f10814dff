//! Sparse rows: the same features as dense ones, tokens and hashes as scikit-learn's, and every
//! refusal of what cannot be one.

use crate::common::{Reading, blocks_of, cases, read, read_with};
use kalmia_data::{
    Analyzer, Block, Coding, Encoder, EncoderOptions, EntryProblem, Error, FIRST_UNNAMED, Input,
    Kind, Missing, Mode, Reader, Result, RowProblem, SettingProblem, Shuffle, SparseBlock,
    WideRows,
};
use proptest::prelude::*;

fn wide() -> EncoderOptions {
    EncoderOptions { wide: WideRows::Always, ..EncoderOptions::target("y") }
}

fn text_column() -> EncoderOptions {
    EncoderOptions { text: vec!["review".into()], ..wide() }
}

fn csv(text: impl AsRef<[u8]>) -> Vec<Input> {
    vec![Input::memory("t.csv", text.as_ref())]
}

fn svm(text: &str) -> Vec<Input> {
    vec![Input::memory("t.svm", text.as_bytes())]
}

/// One entry of a row: index and the bits of the value.
type Entries = Vec<(u32, f64)>;

fn sparse(block: &Block) -> &SparseBlock {
    let rows = block.sparse.as_ref().unwrap();
    assert!(block.x.is_empty() && block.row(0).is_empty());
    assert_eq!((rows.rows(), rows.starts.len()), (block.rows(), block.rows() + 1));
    assert_eq!(
        (rows.indices.len(), rows.values.len()),
        (rows.starts[rows.rows()], rows.indices.len())
    );
    rows
}

/// All rows of a reading, checked to ascend and to have no zero beyond the numbers.
fn rows(reading: &Reading) -> Vec<Entries> {
    let numbers = reading.encoder.number_features();
    let mut all = Vec::new();
    for block in &reading.blocks {
        let rows = sparse(block);
        for i in 0..rows.rows() {
            let row = rows.row(i);
            assert!(row.indices.is_sorted_by(|a, b| a < b), "{:?}", row.indices);
            assert!((0..numbers as u32).eq(row.indices[..numbers].iter().copied()));
            assert!(row.values[numbers..].iter().all(|&v| v != 0.0));
            assert!(row.values.iter().all(|v| v.is_finite()));
            all.push(row.indices.iter().copied().zip(row.values.iter().copied()).collect());
        }
    }
    all
}

/// The hashes of each row, without the intercept.
fn hashes(reading: &Reading) -> Vec<Vec<u32>> {
    let hashed =
        |row: Entries| row.into_iter().filter(|e| e.0 >= FIRST_UNNAMED).collect::<Vec<_>>();
    let unit = |entries: Entries| {
        assert!(entries.iter().all(|e| e.1 == 1.0));
        entries.into_iter().map(|e| e.0 - FIRST_UNNAMED).collect()
    };
    rows(reading).into_iter().map(hashed).map(unit).collect()
}

/// Rows of numbers, truth values, categories and missing values, with levels that appear late.
fn table(count: usize) -> String {
    let mut text = String::from("y,a,town,b,shop\n");
    for i in 0..count {
        let a = if i % 7 == 3 { "NA".to_owned() } else { (i as f64 * 0.5 - 3.0).to_string() };
        let town = ["Rome", "Oslo", "", "Bonn"][i * i % 4];
        let b = ["true", "false", "NA"][i % 3];
        text += &format!("{},{a},{town},{b},s{}\n", i % 5, i * i % 11 + i / 9);
    }
    text
}

#[test]
fn sparse_rows_have_the_entries_of_dense_rows() {
    for missing in [Missing::Mean, Missing::Skip] {
        for intercept in [true, false] {
            let options = EncoderOptions { missing, intercept, ..wide() };
            let dense = EncoderOptions { wide: WideRows::Never, ..options.clone() };
            let dense = read(csv(table(100)), blocks_of(16), dense).unwrap();
            let sparse = read(csv(table(100)), blocks_of(16), options).unwrap();
            assert_eq!(sparse.encoder.features(), dense.encoder.features());
            assert_eq!(sparse.encoder.counts(), dense.encoder.counts());
            assert_eq!(sparse.encoder.columns(), dense.encoder.columns());
            assert_eq!(sparse.y(), dense.y());
            assert_eq!(sparse.encoder.number_features(), 2 + usize::from(intercept));
            let filled = |entries: Entries| {
                let mut row = vec![0.0; dense.encoder.dim()];
                entries.into_iter().for_each(|(i, value)| row[i as usize] = value);
                row
            };
            let filled: Vec<_> = rows(&sparse).into_iter().map(filled).collect();
            assert_eq!(filled, dense.rows());
            for (a, b) in sparse.blocks.iter().zip(&dense.blocks) {
                assert_eq!((a.dim, a.rows_read, a.first_row), (b.dim, b.rows_read, b.first_row));
            }
            sparse.encoder.check().unwrap();
        }
    }
}

#[test]
fn libsvm_indices_are_passed_on_without_a_schema() {
    let text = "+1 3:0.5 7:0 9:2 # comment\n-1 0:4 2147483647:1\n+1 qid:5\n";
    let options = EncoderOptions { target: None, ..wide() };
    let reading = read(svm(text), blocks_of(2), options.clone()).unwrap();
    assert_eq!(reading.names(), ["(intercept)"]);
    let key = |k: u32| FIRST_UNNAMED + k;
    let expected: [Entries; 3] = [
        vec![(0, 1.0), (key(3), 0.5), (key(9), 2.0)],
        vec![(0, 1.0), (key(0), 4.0), (key(0x7fff_ffff), 1.0)],
        vec![(0, 1.0)],
    ];
    assert_eq!(rows(&reading), expected);
    reading.encoder.check().unwrap();
    assert_eq!(reading.encoder.feature_name(key(9)), "9");
    let again =
        read_with(svm(text), blocks_of(1), reading.encoder.clone(), Mode::Evaluate).unwrap();
    assert_eq!(rows(&again), expected);
    assert_eq!(again.encoder.counts().unseen, 0);
    let chosen = EncoderOptions { exclude: vec!["9".into(), "03".into()], ..options.clone() };
    let reading = read(svm(text), blocks_of(2), chosen).unwrap();
    assert_eq!(rows(&reading)[0], [(0, 1.0), (key(3), 0.5)]);
    let chosen = EncoderOptions { features: Some(vec!["9".into()]), intercept: false, ..options };
    let reading = read(svm(text), blocks_of(2), chosen).unwrap();
    assert_eq!(rows(&reading), [vec![(key(9), 2.0)], vec![], vec![]]);
    reading.encoder.check().unwrap();
}

#[test]
fn libsvm_indices_that_do_not_fit_are_refused_or_hashed() {
    let options = EncoderOptions { target: None, ..wide() };
    for key in ["2147483648", "4294967295"] {
        let text = format!("1 1:1\n0 3:1 {key}:1\n");
        let error = read(svm(&text), blocks_of(4), options.clone()).unwrap_err();
        let is = |problem: &RowProblem| {
            matches!(problem, RowProblem::Entry { problem: EntryProblem::IndexTooLarge, .. })
        };
        assert!(
            matches!(&error, Error::Row { at, problem } if at.row == 2 && is(problem)),
            "{error}"
        );
        assert!(error.to_string().contains("2^31"), "{error}");
        let hashed = EncoderOptions { hash_bits: Some(20), ..options.clone() };
        assert_eq!(hashes(&read(svm(&text), blocks_of(4), hashed).unwrap())[1].len(), 2);
    }
    for (entry, what) in [
        ("4294967296:1", "2^32 or more"),
        ("99999999999999999999:1", "2^32 or more"),
        ("-1:1", "not an `index:value` pair"),
        ("1:nan", "not finite"),
        ("1:1e999", "not finite"),
        ("1:", "not an `index:value` pair"),
    ] {
        let error = read(svm(&format!("1 {entry}\n")), blocks_of(4), options.clone()).unwrap_err();
        assert!(error.to_string().contains(what), "{entry}: {error}");
    }
}

#[test]
fn hashed_libsvm_indices_are_those_of_scikit_learn_and_summed() {
    // scikit-learn 1.9.1: FeatureHasher(2**3, input_type="pair", alternate_sign=False).transform(
    //   [[("1", 1.), ("2", 2.), ("3", 4.), ("9", 8.), ("10", 16.), ("11", 32.)]])
    let options = EncoderOptions { target: None, hash_bits: Some(3), intercept: false, ..wide() };
    let text = "1 1:1 2:2 3:4 9:8 10:16 11:32\n0 9:-2.5 10:2.5\n";
    let reading = read(svm(text), blocks_of(4), options.clone()).unwrap();
    let expected = [(1, 24.0), (4, 4.0), (5, 1.0), (6, 32.0), (7, 2.0)];
    assert_eq!(rows(&reading)[0], expected.map(|(hash, value)| (FIRST_UNNAMED + hash, value)));
    assert!(rows(&reading)[1].is_empty(), "a sum of 0 is left out");
    assert_eq!(reading.encoder.feature_name(FIRST_UNNAMED + 7), "#7");
    reading.encoder.check().unwrap();
    let error = read(svm("1 9:1e308 10:1e308\n"), blocks_of(4), options).unwrap_err();
    assert!(matches!(error, Error::Row { problem: RowProblem::HashedSum, .. }), "{error}");
}

#[test]
fn tokens_are_those_of_scikit_learn() {
    // scikit-learn 1.9.1, per text and analyzer a = CountVectorizer(...).build_analyzer():
    // FeatureHasher(2**18, input_type="string", alternate_sign=False).transform(
    //   [["review=" + w for w in set(a(text))]])
    let text = "y,review\n1,\"Good movie, good plot\"\n0,bad BAD plot_2 twist\n1, naïve Großstadt 日本語 \n";
    let words =
        [vec![126365, 152075, 166708], vec![98298, 109586, 180036], vec![76310, 123395, 148143]];
    let reading = read(csv(text), blocks_of(4), text_column()).unwrap();
    assert_eq!(hashes(&reading), words);
    assert_eq!(reading.encoder.columns()[0].kind, Some(Kind::Text));
    assert_eq!(reading.names(), ["(intercept)"]);
    let pairs = [
        vec![126365, 152075, 166708, 171447, 189155, 232898],
        vec![98298, 109586, 116126, 180036, 181147, 207533],
        vec![25193, 56647, 76310, 123395, 148143],
    ];
    let options = EncoderOptions { analyzer: Analyzer::words(2).unwrap(), ..text_column() };
    assert_eq!(hashes(&read(csv(text), blocks_of(4), options).unwrap()), pairs);
    let third = [
        108, 4563, 8472, 9539, 22299, 22528, 39842, 46832, 47000, 53687, 67261, 82638, 84838,
        88119, 99513, 107883, 108916, 119247, 123395, 128194, 133770, 134789, 152525, 166346,
        172737, 173173, 179328, 191525, 206009, 209807, 215473, 216020, 243168, 248085, 250391,
        252685, 253140,
    ];
    let options = EncoderOptions { analyzer: Analyzer::characters(2, 3).unwrap(), ..text_column() };
    assert_eq!(hashes(&read(csv(text), blocks_of(4), options).unwrap())[2], third);
    let options = EncoderOptions { hash_bits: Some(4), ..text_column() };
    let few = [vec![4, 11, 13], vec![2, 4, 10], vec![3, 6, 15]];
    assert_eq!(hashes(&read(csv(text), blocks_of(4), options).unwrap()), few);
}

#[test]
fn hashed_levels_are_those_of_scikit_learn_and_never_unseen() {
    // scikit-learn 1.9.1: FeatureHasher(2**20, input_type="dict", alternate_sign=False).transform(
    //   [{"town": "Rome", "shop": "x"}, {"town": "Oslo", "shop": "y"}])
    let options = EncoderOptions { hash_bits: Some(20), ..wide() };
    let text = "y,town,shop\n1,Rome,x\n0, Oslo,y\n";
    let reading = read(csv(text), blocks_of(4), options).unwrap();
    assert_eq!(hashes(&reading), [[219848, 260553], [999656, 1018767]]);
    assert_eq!(reading.names(), ["(intercept)"]);
    assert!(reading.encoder.columns().iter().all(|column| column.levels.as_slice().is_empty()));
    reading.encoder.check().unwrap();
    let new = csv("town,shop\nBonn,x\n");
    let predicted = read_with(new, blocks_of(4), reading.encoder, Mode::Predict).unwrap();
    assert_eq!((hashes(&predicted)[0].len(), predicted.encoder.counts().unseen), (2, 0));
}

#[test]
fn tokens_are_present_once_and_levels_with_the_same_hash_add_up() {
    // one bit: every token and level is 0 or 1
    let options =
        EncoderOptions { hash_bits: Some(1), text: vec!["t".into(), "u".into()], ..wide() };
    let text = "y,t,u,c,d\n1,aa bb cc dd ee,aa bb cc dd ff,p,q\n0,!,?,p,q\n";
    let reading = read(csv(text), blocks_of(4), options).unwrap();
    let all = rows(&reading);
    let sum = |row: &Entries| row[1..].iter().map(|e| e.1).sum::<f64>();
    assert_eq!(all[0].len(), 3);
    assert_eq!((sum(&all[0]), sum(&all[1])), (4.0, 2.0), "{all:?}");
}

/// Rows with everything at once.
fn mixed(count: usize) -> String {
    let mut text = String::from("y,review,a,town\n");
    for i in 0..count {
        let review = ["Good plot, good cast", "NA", "bad plot", "ok"][i % 4];
        text += &format!("{},\"{review} no{}\",{}.5,t{}\n", i % 2, i % 13, i, i * i % 17);
    }
    text.replace("NA no1\"", "\"")
}

#[test]
fn blocks_of_any_size_give_the_same_rows() {
    for hash_bits in [None, Some(12)] {
        for missing in [Missing::Mean, Missing::Skip] {
            let options = EncoderOptions { hash_bits, missing, ..text_column() };
            let of = |n| read(csv(mixed(300)), blocks_of(n), options.clone()).unwrap();
            let one = of(1);
            for n in [7, 1024] {
                let other = of(n);
                assert_eq!(rows(&other), rows(&one));
                assert_eq!(other.encoder.features(), one.encoder.features());
                assert_eq!(other.encoder.columns(), one.encoder.columns());
                assert_eq!(other.encoder.counts(), one.encoder.counts());
            }
            let dense_names = one.encoder.features().len();
            assert_eq!(one.encoder.feature_name(1), "a");
            assert_eq!(one.encoder.feature_name(dense_names as u32), format!("({dense_names})"));
        }
    }
}

#[test]
fn a_restored_encoder_continues_as_if_it_had_never_stopped() {
    let options = EncoderOptions {
        missing: Missing::Mean,
        analyzer: Analyzer::words(2).unwrap(),
        wide: WideRows::Auto,
        ..text_column()
    };
    let whole = read(csv(mixed(60)), blocks_of(10), options.clone()).unwrap();
    let mut encoder = Encoder::new(options);
    let mut block = Block::new();
    let mut blocks = Vec::new();
    let mut position = Default::default();
    for _ in 0..6 {
        let mut reader =
            Reader::open(csv(mixed(60)), blocks_of(10), &mut encoder, Mode::Learn).unwrap();
        reader.seek(position).unwrap();
        assert!(reader.next_block(&mut encoder, &mut block).unwrap());
        blocks.push(block.clone());
        position = reader.position();
        encoder.check().unwrap();
        encoder = serde_json::from_str(&serde_json::to_string(&encoder).unwrap()).unwrap();
        encoder.check().unwrap();
    }
    assert!(encoder.is_wide());
    assert_eq!(encoder, whole.encoder);
    assert_eq!(rows(&Reading { blocks, encoder }), rows(&whole));
}

#[test]
fn a_refused_block_leaves_no_trace() {
    let options = EncoderOptions { wide: WideRows::Auto, missing: Missing::Mean, ..wide() };
    let levels: String = (0..300).map(|i| format!("1,2,l{i}\n")).collect();
    for (bad, decided) in [(b"1,3,\xff\n".as_slice(), true), (b"1,3,\xff\n", false)] {
        let mut text = b"y,a,c\n".to_vec();
        let first = if decided { &*levels } else { "1,,p\n1,2,q\n" };
        text.extend_from_slice(first.as_bytes());
        text.extend_from_slice(b"1,,new\n");
        text.extend_from_slice(bad);
        let mut encoder = Encoder::new(options.clone());
        let rows_first = first.lines().count();
        let mut reader =
            Reader::open(csv(text), blocks_of(rows_first), &mut encoder, Mode::Learn).unwrap();
        let mut block = Block::new();
        assert!(reader.next_block(&mut encoder, &mut block).unwrap());
        assert_eq!(encoder.is_wide(), decided);
        let before = encoder.clone();
        let error = reader.next_block(&mut encoder, &mut block).unwrap_err();
        assert!(matches!(error, Error::Row { problem: RowProblem::NotUtf8 { .. }, .. }), "{error}");
        assert_eq!(encoder, before);
    }
    // a declared encoder that a refused first block would have made wide
    let columns = [("c".to_owned(), Kind::Category)];
    let mut encoder = Encoder::from_columns(options, &columns, Coding::Number).unwrap();
    let before = encoder.clone();
    let mut text = b"c,y\n".to_vec();
    (0..300).for_each(|i| text.extend(format!("l{i},{i}\n").bytes()));
    text.extend_from_slice(b"\xff,1\n");
    let mut reader = Reader::open(csv(text), blocks_of(400), &mut encoder, Mode::Learn).unwrap();
    assert!(reader.next_block(&mut encoder, &mut Block::new()).is_err());
    assert_eq!(encoder, before);
}

#[test]
fn auto_decides_once_by_the_first_block() {
    let auto = || EncoderOptions { wide: WideRows::Auto, ..EncoderOptions::target("y") };
    let is_wide = |reading: Result<Reading>| {
        let reading = reading.unwrap();
        reading.encoder.check().unwrap();
        let wide = reading.encoder.is_wide();
        assert!(reading.blocks.iter().all(|block| block.sparse.is_some() == wide));
        wide
    };
    let category = |levels: usize, rows: usize| {
        let mut text = String::from("y,c\n");
        (0..rows).for_each(|i| text += &format!("1,l{}\n", i % levels));
        text
    };
    for (levels, rows, expected) in [(257, 1000, true), (257, 1028, false), (256, 300, false)] {
        let reading = read(csv(category(levels, rows)), blocks_of(2000), auto());
        assert_eq!(is_wide(reading), expected, "{levels} levels, {rows} rows");
    }
    // more levels come later: the decision stands
    assert!(!is_wide(read(csv(category(500, 500)), blocks_of(100), auto())));
    let columns = |n: usize| {
        let names: String = (0..n).map(|i| format!(",c{i}")).collect();
        format!("y{names}\n1{}\n", ",2".repeat(n))
    };
    assert!(!is_wide(read(csv(columns(1999)), blocks_of(4), auto())));
    assert!(is_wide(read(csv(columns(2000)), blocks_of(4), auto())));
    let indices = |n: usize| {
        let pairs: String = (1..=n).map(|i| format!(" {i}:1")).collect();
        format!("1{pairs}\n0 1:1 5000:1\n")
    };
    let no_target = || EncoderOptions { target: None, ..auto() };
    assert!(!is_wide(read(svm(&indices(1999)), blocks_of(1), no_target())));
    let many = read(svm(&indices(2000)), blocks_of(1), no_target()).unwrap();
    assert_eq!(many.names(), ["(intercept)"]);
    assert_eq!(rows(&many)[1].len(), 3);
    let hashed = EncoderOptions { hash_bits: Some(10), ..auto() };
    assert!(is_wide(read(csv("y,c\n1,a\n"), blocks_of(4), hashed)));
    let text = EncoderOptions { text: vec!["c".into()], ..auto() };
    assert!(is_wide(read(csv("y,c\n1,aa\n"), blocks_of(4), text)));
    // rows that are left out decide nothing
    let skip = EncoderOptions { missing: Missing::Skip, ..auto() };
    let late = read(csv(format!("y,c\nNA,a\n{}", &category(300, 300)[4..])), blocks_of(1), skip);
    assert!(!late.unwrap().encoder.is_wide());
}

#[test]
fn missing_texts_have_no_tokens() {
    let text = "y,review\n1,good\n0,\n1,  NA \n0,!\n";
    let error = read(csv(text), blocks_of(4), text_column()).unwrap_err();
    assert!(
        matches!(&error, Error::MissingValue { at, column } if at.row == 2 && column == "review"),
        "{error}"
    );
    let options = |missing| EncoderOptions { missing, ..text_column() };
    let skipped = read(csv(text), blocks_of(4), options(Missing::Skip)).unwrap();
    assert_eq!((skipped.y(), skipped.encoder.counts().skipped), (vec![1.0, 0.0], 2));
    assert_eq!(rows(&skipped)[1], [(0, 1.0)]);
    let mean = read(csv(text), blocks_of(4), options(Missing::Mean)).unwrap();
    assert_eq!(mean.names(), ["(intercept)", "review:missing"]);
    let indicator = vec![(0, 1.0), (1, 1.0)];
    assert_eq!(rows(&mean)[1..], [indicator.clone(), indicator, vec![(0, 1.0)]]);
    assert_eq!(mean.encoder.counts().imputed, 2);
    mean.encoder.check().unwrap();
}

#[test]
fn texts_that_are_not_utf8_name_row_and_column() {
    for options in [text_column(), EncoderOptions { hash_bits: Some(8), ..wide() }] {
        let good = read(csv("y,review\n1,good\n"), blocks_of(4), options.clone()).unwrap();
        let bad = b"y,review\n1,fine\n0,caf\xe9\n";
        for mode in [Mode::Learn, Mode::Predict, Mode::Evaluate] {
            let encoder = good.encoder.clone();
            let error = read_with(csv(bad), blocks_of(4), encoder, mode).unwrap_err();
            assert!(
                matches!(&error, Error::Row { at, problem: RowProblem::NotUtf8 { column } }
                    if at.row == 2 && column == "review"),
                "{error}"
            );
        }
    }
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let open = |options: EncoderOptions| read(csv("y,review,c\n1,good,b\n"), blocks_of(4), options);
    for bits in [0, 31, 64] {
        let error = open(EncoderOptions { hash_bits: Some(bits), ..wide() }).unwrap_err();
        assert!(matches!(error, Error::Setting(SettingProblem::HashBits { .. })), "{error}");
    }
    let never = |options: EncoderOptions| EncoderOptions { wide: WideRows::Never, ..options };
    for options in [never(text_column()), never(EncoderOptions { hash_bits: Some(9), ..wide() })] {
        let error = open(options).unwrap_err();
        assert!(matches!(error, Error::Setting(SettingProblem::NeedsWide { .. })), "{error}");
        assert!(error.to_string().contains("method auto or wide"), "{error}");
    }
    let analyzer = Analyzer::Words { ngrams: 0 };
    let error = open(EncoderOptions { analyzer, ..text_column() }).unwrap_err();
    assert!(matches!(error, Error::Setting(SettingProblem::Analyzer { .. })), "{error}");
    let error = open(EncoderOptions { text: vec!["reviw".into()], ..wide() }).unwrap_err();
    assert!(matches!(&error, Error::NoColumn { name, .. } if name == "reviw"), "{error}");
    let error =
        read(svm("1 1:1\n"), blocks_of(4), EncoderOptions { target: None, ..text_column() });
    assert!(matches!(error, Err(Error::NoColumn { .. })));
    let list = || vec!["review".to_owned()];
    for twice in [
        EncoderOptions { exclude: list(), ..text_column() },
        EncoderOptions { categorical: list(), ..text_column() },
        EncoderOptions { weight: Some("review".into()), ..text_column() },
        EncoderOptions { target: Some("review".into()), ..text_column() },
    ] {
        let error = open(twice).unwrap_err();
        assert!(matches!(error, Error::Setting(SettingProblem::TwoRoles { .. })), "{error}");
    }
}

#[test]
fn text_can_be_declared_without_rows() {
    let columns = [("review".to_owned(), Kind::Text), ("a".to_owned(), Kind::Number)];
    let of = |wide| {
        let options = EncoderOptions { wide, ..EncoderOptions::target("y") };
        Encoder::from_columns(options, &columns, Coding::Number)
    };
    assert!(matches!(of(WideRows::Never), Err(Error::Setting(SettingProblem::NeedsWide { .. }))));
    let encoder = of(WideRows::Auto).unwrap();
    assert!(encoder.is_wide());
    encoder.check().unwrap();
    assert_eq!((encoder.number_features(), encoder.options().text.len()), (2, 1));
    let input = csv("review,a\nGood plot,3\n");
    let reading = read_with(input, blocks_of(4), encoder, Mode::Predict).unwrap();
    assert_eq!(hashes(&reading), [[152075, 166708]]);
    assert_eq!(rows(&reading)[0][..2], [(0, 1.0), (1, 3.0)]);
}

#[test]
fn options_at_their_defaults_are_stored_as_before() {
    let json = serde_json::to_string(&EncoderOptions::target("y")).unwrap();
    let before = "{\"target\":\"y\",\"positive\":null,\"weight\":null,\"offset\":null,\
        \"features\":null,\"exclude\":[],\"categorical\":[],\"intercept\":true,\
        \"missing\":\"error\",\"max_features\":32768}";
    assert_eq!(json, before);
    let encoder =
        read(csv("y,a\n1,2\n"), blocks_of(4), EncoderOptions::target("y")).unwrap().encoder;
    assert!(!serde_json::to_string(&encoder).unwrap().contains("wide"));
    assert_eq!(
        serde_json::from_str::<EncoderOptions>(before).unwrap(),
        EncoderOptions::target("y")
    );
    let set = EncoderOptions {
        analyzer: Analyzer::characters(2, 4).unwrap(),
        hash_bits: Some(20),
        ..text_column()
    };
    let json = serde_json::to_string(&set).unwrap();
    assert!(json.contains("\"characters:2-4\"") && json.contains("\"always\""), "{json}");
    assert_eq!(serde_json::from_str::<EncoderOptions>(&json).unwrap(), set);
    assert!(serde_json::from_str::<EncoderOptions>(&json.replace("2-4", "4-2")).is_err());
}

#[test]
fn damaged_wide_encoders_are_refused() {
    let options = EncoderOptions { wide: WideRows::Auto, ..text_column() };
    let encoder = read(csv("y,a,review,c,b\n1,2,good,p,3\n1,2,bad,q,4\n"), blocks_of(4), options)
        .unwrap()
        .encoder;
    encoder.check().unwrap();
    let json = serde_json::to_string(&encoder).unwrap();
    for (from, to) in [
        ("\"wide\":\"auto\"", "\"wide\":\"never\""),
        ("\"wide\":\"auto\"", "\"wide\":\"always\""),
        ("\"wide\":true", "\"wide\":false"),
        ("\"kind\":\"text\"", "\"kind\":\"number\""),
        ("\"kind\":\"category\"", "\"kind\":\"text\""),
        ("\"wide\":\"auto\"", "\"wide\":\"auto\",\"hash_bits\":18"),
        ("\"wide\":\"auto\"", "\"wide\":\"auto\",\"hash_bits\":31"),
        ("\"keys\":[]", "\"keys\":[[3,1]]"),
    ] {
        assert!(json.contains(from), "{from} in {json}");
        let damaged: Encoder = serde_json::from_str(&json.replacen(from, to, 1)).unwrap();
        assert!(damaged.check().is_err(), "{to}");
    }
}

#[test]
fn shuffled_rows_are_the_same_rows() {
    let options = EncoderOptions { missing: Missing::Mean, ..text_column() };
    let reading = read(csv(mixed(3000)), blocks_of(512), options).unwrap();
    let expected = rows(&reading);
    for bytes in [usize::MAX, 20_000, 0] {
        let mut shuffle = Shuffle::new(5, bytes);
        reading.blocks.iter().for_each(|block| shuffle.add(block).unwrap());
        let dense = read(csv("y,a\n1,2\n"), blocks_of(4), EncoderOptions::target("y")).unwrap();
        assert!(shuffle.add(&dense.blocks[0]).is_err(), "dense rows among sparse ones");
        let mut shuffled = shuffle.finish();
        let mut seen = vec![false; expected.len()];
        let mut block = dense.blocks[0].clone();
        while shuffled.next_block(&mut block).unwrap() {
            let rows = sparse(&block);
            assert_eq!(block.dim, reading.encoder.dim());
            for i in 0..block.rows() {
                let row = block.location(i).row as usize - 1;
                assert!(!std::mem::replace(&mut seen[row], true));
                let got = rows.row(i);
                assert!(got.indices.iter().copied().eq(expected[row].iter().map(|e| e.0)));
                assert!(got.values.iter().copied().eq(expected[row].iter().map(|e| e.1)));
            }
        }
        assert!(seen.iter().all(|&seen| seen));
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn hostile_texts_and_indices_never_panic(
        text in prop::collection::vec(any::<u8>(), 0..200),
        pairs in prop::collection::vec((any::<u32>(), any::<f64>()), 0..20),
        bits in prop::option::of(1u8..31),
        from in 1u8..6,
        to in 6u8..17,
    ) {
        let table = [b"y,review,c\n1,\"", &*text, b"\",", &*text, b"\n0,ok,p\n"].concat();
        let analyzers = [Analyzer::words(from).unwrap(), Analyzer::characters(from, to).unwrap()];
        for analyzer in analyzers {
            let missing = Missing::Mean;
            let options = EncoderOptions { analyzer, hash_bits: bits, missing, ..text_column() };
            if let Ok(reading) = read(csv(&table), blocks_of(2), options) {
                rows(&reading);
                reading.encoder.check().unwrap();
            }
        }
        let mut pairs = pairs;
        pairs.sort_by_key(|pair| pair.0);
        let line: String = pairs.iter().map(|(key, value)| format!(" {key}:{value}")).collect();
        let options = EncoderOptions { target: None, hash_bits: bits, ..wide() };
        if let Ok(reading) = read(svm(&format!("1{line}\n")), blocks_of(2), options) {
            rows(&reading);
        }
    }
}
