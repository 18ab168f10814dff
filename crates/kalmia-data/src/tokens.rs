//! The tokens of a text: its words, runs of words, or pieces of words.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, SettingProblem};

/// Most words, or characters, of one token: the number of tokens of a text grows with it.
const MAX_LENGTH: u8 = 16;

/// How a text is cut into tokens, as scikit-learn's `CountVectorizer` does it.
///
/// Texts are lower-cased first. One difference: characters that are no letters but have Unicode's
/// property *Alphabetic*, such as the vowel signs of Devanagari and circled letters, stay within
/// their word here, and end it in scikit-learn. Both know the letters of the Unicode version that
/// they were built with.
///
/// In options and files it is written as text.
///
/// ```
/// use kalmia_data::Analyzer;
///
/// let pairs: Analyzer = "words:2".parse()?;
/// assert_eq!(pairs, Analyzer::words(2)?);
/// let mut tokens = Vec::new();
/// pairs.each("A good, GOOD plot", &mut Default::default(), |token| tokens.push(token.to_vec()));
/// assert_eq!(tokens, [&b"good"[..], b"good", b"plot", b"good good", b"good plot"]);
/// # Ok::<(), kalmia_data::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Analyzer {
    /// Words of at least two letters, digits or underscores, and runs of up to `ngrams` of them
    /// joined by a space: `words`, `words:2`.
    Words {
        /// Most words of a token, 1 to 16.
        ngrams: u8,
    },
    /// Pieces of `from` to `to` characters within each word and the blanks around it, as
    /// `analyzer='char_wb'` gives them: `characters:2-4`. Robust against misspelling; words of
    /// whatever characters count, split at blanks.
    Characters {
        /// Fewest characters of a token, at least 1.
        from: u8,
        /// Most characters of a token, at most 16.
        to: u8,
    },
}

impl Default for Analyzer {
    /// Single words.
    fn default() -> Self {
        Self::Words { ngrams: 1 }
    }
}

/// Buffers that [`Analyzer::each`] reuses from text to text.
#[derive(Debug, Clone, Default)]
pub struct TokenScratch {
    lower: String,
    /// The words, one blank between them.
    joined: String,
    spans: Vec<Span>,
}

/// A piece of a buffer, in bytes.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

impl Analyzer {
    /// Words, and runs of up to `ngrams` of them; 1 to 16.
    pub fn words(ngrams: u8) -> Result<Self> {
        Self::Words { ngrams }.checked()
    }

    /// Pieces of `from` to `to` characters; 1 to 16, ascending.
    pub fn characters(from: u8, to: u8) -> Result<Self> {
        Self::Characters { from, to }.checked()
    }

    /// Refuses lengths out of range, which the variants alone do not exclude.
    pub fn checked(self) -> Result<Self> {
        let legal = match self {
            Self::Words { ngrams } => (1..=MAX_LENGTH).contains(&ngrams),
            Self::Characters { from, to } => 1 <= from && from <= to && to <= MAX_LENGTH,
        };
        if legal { Ok(self) } else { Err(refused(&self.to_string())) }
    }

    /// Calls `take` with each token of a text, repeated ones each time, in scikit-learn's order.
    ///
    /// Nothing is allocated once the buffers have grown, unless the text has a capital sigma, whose
    /// lower case depends on its place.
    pub fn each(&self, text: &str, scratch: &mut TokenScratch, mut take: impl FnMut(&[u8])) {
        lower_case(text, &mut scratch.lower);
        match *self {
            Self::Words { ngrams } => each_word(scratch, usize::from(ngrams), &mut take),
            Self::Characters { from, to } => {
                each_piece(scratch, usize::from(from)..=usize::from(to), &mut take);
            }
        }
    }
}

fn lower_case(text: &str, out: &mut String) {
    out.clear();
    if text.is_ascii() {
        out.push_str(text);
        out.make_ascii_lowercase();
    } else if text.contains('Σ') {
        out.push_str(&text.to_lowercase());
    } else {
        out.extend(text.chars().flat_map(char::to_lowercase));
    }
}

fn each_word(scratch: &mut TokenScratch, ngrams: usize, take: &mut impl FnMut(&[u8])) {
    let TokenScratch { lower, joined, spans } = scratch;
    let apart = |c: char| !(c.is_alphanumeric() || c == '_');
    let words = lower.split(apart).filter(|word| word.chars().nth(1).is_some());
    if ngrams == 1 {
        words.for_each(|word| take(word.as_bytes()));
        return;
    }
    joined.clear();
    spans.clear();
    for word in words {
        let start = joined.len();
        joined.push_str(word);
        spans.push(Span { start, end: joined.len() });
        joined.push(' ');
    }
    for n in 1..=ngrams.min(spans.len()) {
        for run in spans.windows(n) {
            take(&joined.as_bytes()[run[0].start..run[n - 1].end]);
        }
    }
}

fn each_piece(
    scratch: &mut TokenScratch,
    lengths: std::ops::RangeInclusive<usize>,
    take: &mut impl FnMut(&[u8]),
) {
    let TokenScratch { lower, joined, spans } = scratch;
    // Python's blanks: those of Unicode and four separators of ASCII.
    let blank = |c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c);
    for word in lower.split(blank).filter(|word| !word.is_empty()) {
        joined.clear();
        joined.push(' ');
        joined.push_str(word);
        joined.push(' ');
        spans.clear();
        let chars = joined.char_indices();
        spans.extend(chars.map(|(start, c)| Span { start, end: start + c.len_utf8() }));
        for n in lengths.clone() {
            if n >= spans.len() {
                // a short word counts once
                take(joined.as_bytes());
                break;
            }
            for run in spans.windows(n) {
                take(&joined.as_bytes()[run[0].start..run[n - 1].end]);
            }
        }
    }
}

impl fmt::Display for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words { ngrams: 1 } => write!(f, "words"),
            Self::Words { ngrams } => write!(f, "words:{ngrams}"),
            Self::Characters { from, to } => write!(f, "characters:{from}-{to}"),
        }
    }
}

impl FromStr for Analyzer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let read = || match text.split_once(':') {
            None if text == "words" => Some(Self::default()),
            Some(("words", ngrams)) => Some(Self::Words { ngrams: ngrams.parse().ok()? }),
            Some(("characters", range)) => {
                let (from, to) = range.split_once('-')?;
                Some(Self::Characters { from: from.parse().ok()?, to: to.parse().ok()? })
            }
            _ => None,
        };
        read().and_then(|analyzer| analyzer.checked().ok()).ok_or_else(|| refused(text))
    }
}

fn refused(text: &str) -> Error {
    SettingProblem::Analyzer { text: text.into() }.into()
}

impl TryFrom<String> for Analyzer {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Analyzer> for String {
    fn from(analyzer: Analyzer) -> Self {
        analyzer.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(analyzer: &str, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        let analyzer: Analyzer = analyzer.parse().unwrap();
        analyzer.each(text, &mut TokenScratch::default(), |token| {
            all.push(String::from_utf8(token.to_vec()).unwrap());
        });
        all
    }

    // The lists below are those of scikit-learn 1.9.1:
    // CountVectorizer(ngram_range=(1, n)).build_analyzer()(text), and for characters
    // CountVectorizer(analyzer="char_wb", ngram_range=(from, to)).

    #[test]
    fn words_are_those_of_scikit_learn() {
        let text = "The quick brown Fox, a fox_2 & I; ÉTÉ à la Straße! x1 ½½ don't";
        let words =
            ["the", "quick", "brown", "fox", "fox_2", "été", "la", "straße", "x1", "½½", "don"];
        assert_eq!(tokens("words", text), words);
        let pairs = [
            "the quick",
            "quick brown",
            "brown fox",
            "fox fox_2",
            "fox_2 été",
            "été la",
            "la straße",
            "straße x1",
            "x1 ½½",
            "½½ don",
        ];
        assert_eq!(tokens("words:2", text), [&words[..], &pairs].concat());
        assert_eq!(tokens("words", "ΟΔΟΣ ΣΑΣ İstanbul"), ["οδος", "σας", "stanbul"]);
        let triples = [
            "tab",
            "new",
            "line",
            "two",
            "tab new",
            "new line",
            "line two",
            "tab new line",
            "new line two",
        ];
        assert_eq!(tokens("words:3", "tab\tnew\nline  two"), triples);
        assert_eq!(tokens("words:3", "a b cc d"), ["cc"]);
        assert!(tokens("words:2", "  ").is_empty() && tokens("words", "").is_empty());
    }

    #[test]
    fn characters_are_those_of_scikit_learn() {
        let pieces = [
            " a", "a ", " a ", " b", "b ", " b ", " c", "cc", "c ", " cc", "cc ", " cc ", " d",
            "d ", " d ",
        ];
        assert_eq!(tokens("characters:2-4", "a b cc d"), pieces);
        assert_eq!(
            tokens("characters:3-5", "a b cc d"),
            [" a ", " b ", " cc", "cc ", " cc ", " d "]
        );
        assert_eq!(tokens("characters:1-1", "A;\u{1c}é"), [" ", "a", ";", " ", " ", "é", " "]);
        let greek = [
            " ο",
            "οδ",
            "δο",
            "ος",
            "ς ",
            " οδ",
            "οδο",
            "δος",
            "ος ",
            " οδο",
            "οδος",
            "δος ",
            " i",
            "i\u{307}",
            "\u{307}s",
            "s ",
            " i\u{307}",
            "i\u{307}s",
            "\u{307}s ",
            " i\u{307}s",
            "i\u{307}s ",
        ];
        assert_eq!(tokens("characters:2-4", "ΟΔΟΣ İs"), greek);
        assert!(tokens("characters:2-4", " \n ").is_empty());
    }

    #[test]
    fn every_analyzer_is_read_back_and_others_are_refused() {
        for text in ["words", "words:2", "words:16", "characters:1-1", "characters:2-4"] {
            assert_eq!(text.parse::<Analyzer>().unwrap().to_string(), text);
        }
        assert_eq!("words:1".parse::<Analyzer>().unwrap(), Analyzer::default());
        for text in [
            "",
            "word",
            "words:",
            "words:0",
            "words:17",
            "words:256",
            "words:-1",
            "characters",
            "characters:2",
            "characters:4-2",
            "characters:0-2",
            "characters:2-17",
            "characters:-",
        ] {
            let error = text.parse::<Analyzer>().unwrap_err().to_string();
            assert!(error.contains("characters:2-4"), "{error}");
        }
        assert!(Analyzer::words(0).is_err() && Analyzer::characters(3, 2).is_err());
    }
}
