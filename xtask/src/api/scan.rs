//! Public items of one file, read line by line. rustfmt makes that enough: an item of the file
//! starts in the first column, a member of it four columns further, and a `}` ends it.

/// A public item or a member of one.
#[derive(Debug, PartialEq)]
pub struct Item {
    /// The type, trait or function that it belongs to, or is.
    pub owner: String,
    /// Its declaration in one line, without body; a member is shown as `Owner: declaration`.
    pub line: String,
}

impl Item {
    /// Whether it is a `pub use`.
    pub fn is_reexport(&self) -> bool {
        self.line.starts_with("pub use ")
    }

    /// The names that a `pub use` takes from elsewhere; none for other items.
    pub fn reexports(&self) -> Vec<&str> {
        let Some(tree) = self.line.strip_prefix("pub use ") else { return Vec::new() };
        let leaves = tree.split([',', '{', '}']).map(str::trim);
        leaves
            .filter_map(|leaf| leaf.split(" as ").next())
            .filter_map(|leaf| leaf.rsplit("::").next())
            .filter(|name| !name.is_empty())
            .collect()
    }
}

/// What the members of a block are.
enum Block {
    /// Members are public if they say so: `impl Type`, `struct`.
    Marked(String),
    /// Every member is public: `trait`, `enum`.
    Open(String),
    /// Nothing in it is listed.
    Closed,
}

const KINDS: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro"];

/// What may continue on the next line up to a body or a semicolon.
const BODIES: [&str; 5] = ["fn ", "struct ", "enum ", "trait ", "impl"];

/// The public items of a file, hidden ones (`#[doc(hidden)]`) left out.
pub fn items(text: &str) -> Vec<Item> {
    let mut found = Vec::new();
    let mut block = Block::Closed;
    let mut hidden = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let start = line.trim_start();
        if indent > 4 || start.is_empty() || start.starts_with("//") {
            continue;
        }
        if start.starts_with('#') {
            hidden |= start.contains("doc(hidden)");
            if !start.ends_with(']') {
                lines.by_ref().find(|line| line.trim_end().ends_with(")]"));
            }
            continue;
        }
        let skip = std::mem::take(&mut hidden);
        if indent == 0 && start.starts_with('}') {
            block = Block::Closed;
        } else if indent == 0 {
            let (line, opens) = declaration(start, &mut lines);
            let next = if opens && !skip { block_of(&line) } else { Block::Closed };
            if let (true, false, Some(owner)) = (line.starts_with("pub "), skip, name(&line)) {
                found.push(Item { owner, line });
            }
            if opens {
                block = next;
            }
        } else if indent == 4 && !skip {
            let (owner, listed) = match &block {
                Block::Marked(owner) => (owner, start.starts_with("pub ")),
                Block::Open(owner) => (owner, !start.starts_with('}')),
                Block::Closed => continue,
            };
            if listed {
                let (line, _) = declaration(start, &mut lines);
                found.push(Item { owner: owner.clone(), line: format!("{owner}: {line}") });
            }
        }
    }
    found
}

/// The declaration that starts with `first`, up to its body or end, in one line, and whether a body
/// follows.
fn declaration<'t>(first: &str, rest: &mut impl Iterator<Item = &'t str>) -> (String, bool) {
    let mut text = first.to_string();
    let has_body = BODIES.iter().any(|word| first.contains(word));
    let whole = first.starts_with("pub use ") || first.starts_with(char::is_uppercase);
    loop {
        let body_starts = !whole && open_brackets(&text) == 1 && text.ends_with('{');
        let ended = open_brackets(&text) == 0 && (!has_body || text.ends_with([';', '{', '}']));
        let Some(line) = (if body_starts || ended { None } else { rest.next() }) else { break };
        if !line.trim_start().starts_with(['/', '#']) {
            text += " ";
            text += line.trim();
        }
    }
    let opens = text.ends_with('{');
    let end = if whole { None } else { text.find(" {").or(text.find(" = ")) };
    let text = text[..end.unwrap_or(text.len())].trim_end_matches([';', ',', '{', ' ']);
    let joined = text.replace("( ", "(").replace(",)", ")").replace(", )", ")");
    (joined.replace("{ ", "{").replace(", }", "}").replace(" }", "}"), opens)
}

fn open_brackets(text: &str) -> i32 {
    let weight = |c: char| match c {
        '(' | '[' | '{' => 1,
        ')' | ']' | '}' => -1,
        _ => 0,
    };
    text.chars().map(weight).sum()
}

/// How the members of the item are public.
fn block_of(line: &str) -> Block {
    let declared = name(line).unwrap_or_default();
    if line.starts_with("impl") {
        return match implemented(line) {
            Some(owner) => Block::Marked(owner),
            None => Block::Closed,
        };
    }
    match line.strip_prefix("pub ").map(|rest| rest.trim_start_matches("unsafe ")) {
        Some(rest) if rest.starts_with("trait ") || rest.starts_with("enum ") => {
            Block::Open(declared)
        }
        Some(rest) if rest.starts_with("struct ") => Block::Marked(declared),
        _ => Block::Closed,
    }
}

/// `Filter` of `impl<F: Family> Filter<F>`; `None` for the implementation of a trait.
fn implemented(line: &str) -> Option<String> {
    if line.contains(" for ") && !line.contains("for<") {
        return None;
    }
    let mut rest = line.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find(|(i, c)| {
            depth += match c {
                '<' => 1,
                '>' if !rest[..*i].ends_with('-') => -1,
                _ => 0,
            };
            depth == 0
        })?;
        rest = &rest[end.0 + 1..];
    }
    Some(identifier(rest.trim_start()))
}

/// The name that a declaration gives: the word after its kind, or the path of a `use` or `mod`.
fn name(line: &str) -> Option<String> {
    let mut words = line.strip_prefix("pub ")?.split_whitespace();
    let mut kind = words.next()?;
    while matches!(kind, "unsafe" | "async" | "extern")
        || (kind == "const" && line.contains("const fn"))
    {
        kind = words.next()?;
    }
    let known = KINDS.contains(&kind) || matches!(kind, "use" | "mod");
    known.then(|| words.next().map(identifier)).flatten()
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        items(text).into_iter().map(|item| item.line).collect()
    }

    #[test]
    fn functions_lose_their_bodies_and_line_breaks() {
        let text = "\
pub fn one(x: f64) -> f64 {
    pub_like(x)
}

pub const fn two<F: Fn(f64) -> f64>(
    first: F,
    second: &[f64],
) -> Result<(), Error>
where
    F: Clone,
{
}
fn three() {}
pub(crate) fn four() {}
pub const LIMIT: f64 = 1e30;
";
        assert_eq!(
            lines(text),
            [
                "pub fn one(x: f64) -> f64",
                "pub const fn two<F: Fn(f64) -> f64>(first: F, second: &[f64]) -> \
                 Result<(), Error> where F: Clone",
                "pub const LIMIT: f64",
            ]
        );
    }

    #[test]
    fn members_are_listed_as_they_are_public() {
        let text = "\
/// Doc.
#[derive(Debug)]
pub struct Filter<F> {
    /// Doc.
    pub family: F,
    secret: f64,
}
impl<F: Fn(f64) -> f64> Filter<F> {
    pub fn new(family: F) -> Self {
        Self { family }
    }
    #[doc(hidden)]
    pub fn hidden() {}
    fn private(&self) {}
}
impl<F> Learner for Filter<F> {
    fn learn(&self) {}
}
pub trait Learner {
    fn learn(&self) -> f64;
    fn dim(&self) -> usize {
        0
    }
}
pub enum Kind {
    #[error(
        \"two lines\"
    )]
    Plain,
    Given { name: String },
    Long {
        /// Doc.
        first: f64,
        second: f64,
    },
    Pair(f64, f64),
}
#[doc(hidden)]
pub fn unseen() {}
#[cfg(test)]
mod tests {
    pub fn helper() {}
}
";
        assert_eq!(
            lines(text),
            [
                "pub struct Filter<F>",
                "Filter: pub family: F",
                "Filter: pub fn new(family: F) -> Self",
                "pub trait Learner",
                "Learner: fn learn(&self) -> f64",
                "Learner: fn dim(&self) -> usize",
                "pub enum Kind",
                "Kind: Plain",
                "Kind: Given {name: String}",
                "Kind: Long {first: f64, second: f64}",
                "Kind: Pair(f64, f64)",
            ]
        );
    }

    #[test]
    fn reexports_are_joined_and_give_their_names() {
        let text =
            "pub use a::{\n    One, b::Two,\n    three as Three,\n};\npub mod open;\nmod x;\n";
        let found = items(text);
        assert_eq!(found[0].line, "pub use a::{One, b::Two, three as Three}");
        assert_eq!(found[0].reexports(), ["One", "Two", "three"]);
        assert_eq!(found[1].line, "pub mod open");
    }
}
