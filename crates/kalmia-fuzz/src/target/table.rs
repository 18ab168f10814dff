//! The table of which the seeds are made: numbers, texts, truth values, and missing ones.

/// One row.
pub struct Row {
    /// The target.
    pub y: f64,
    /// A number, sometimes missing.
    pub x: Option<f64>,
    /// A category, sometimes missing.
    pub town: Option<&'static str>,
    /// A truth value.
    pub flag: bool,
}

/// The names of the columns.
pub const NAMES: [&str; 4] = ["y", "x", "town", "flag"];

/// Rows of the table.
pub fn rows(count: usize) -> Vec<Row> {
    let towns = ["Ulm", "Köln", "a \"b\", c", "two\nlines"];
    let row = |i: usize| Row {
        y: (i % 3) as f64,
        x: (i % 7 != 3).then_some(i as f64 * 0.25 - 1e-3),
        town: (i % 5 != 4).then_some(towns[i % towns.len()]),
        flag: i.is_multiple_of(2),
    };
    (0..count).map(row).collect()
}

/// The table as separated text.
pub fn separated(count: usize, delimiter: char, newline: &str) -> Vec<u8> {
    let line = |fields: [String; 4]| fields.join(&delimiter.to_string()) + newline;
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let fields = |row: &Row| {
        [
            row.y.to_string(),
            row.x.map_or("NA".into(), |x| x.to_string()),
            row.town.map_or(String::new(), quoted),
            row.flag.to_string(),
        ]
    };
    let mut text = line(NAMES.map(str::to_owned));
    rows(count).iter().for_each(|row| text += &line(fields(row)));
    text.into_bytes()
}

/// The table as JSON Lines.
pub fn jsonl(count: usize) -> Vec<u8> {
    let escaped = |text: &str| text.replace('"', "\\\"").replace('\n', "\\n");
    let line = |row: &Row| {
        let x = row.x.map_or("null".into(), |x| x.to_string());
        let town = row.town.map_or("null".into(), |town| format!("\"{}\"", escaped(town)));
        format!("{{\"y\":{},\"x\":{x},\"town\":{town},\"flag\":{}}}\n", row.y, row.flag)
    };
    rows(count).iter().map(line).collect::<String>().into_bytes()
}
