//! Tokens and what their roles allow.

use crate::error::{ApiError, Code, Result};
use axum::http::{HeaderMap, header};
use rand::Rng;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// What a token may do. Each role includes the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Look and predict.
    Read,
    /// Learn, label and choose as well.
    Learn,
    /// Create and delete models as well.
    Admin,
}

impl Role {
    /// All roles, the weakest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Learn, Self::Admin];

    /// The name in token files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Learn => "learn",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let known = Self::ALL.into_iter().find(|role| role.name() == name);
        known.ok_or_else(|| format!("`{name}` is no role; the roles are read, learn and admin"))
    }
}

/// Bytes of a SHA-256.
type Hash = [u8; 32];

/// The SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// A new token and its line in a token file. Tokens have 256 random bits, so a plain hash of them
/// cannot be guessed.
pub fn new_token(role: Role) -> (String, String) {
    let mut random = [0; 32];
    rand::rng().fill_bytes(&mut random);
    let token = format!("kalmia_{}", hex(&random));
    let line = format!("{} {}", role.name(), hex(&sha256(token.as_bytes())));
    (token, line)
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Hash> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

/// A token as the file holds it.
#[derive(Debug, Clone, PartialEq)]
struct Token {
    role: Role,
    hash: Hash,
}

/// Who may do what: the tokens of a file, or everybody on this machine.
#[derive(Debug)]
pub enum Access {
    /// Everything is allowed; the service listens on the loopback interface only.
    Open,
    /// By the tokens of a file, which can be read again.
    Tokens(TokenFile),
}

/// A file of tokens: per line a role and the SHA-256 of a token in hexadecimal. Blank lines and
/// lines that start with `#` do not count; what follows the hash is a comment.
#[derive(Debug)]
pub struct TokenFile {
    path: PathBuf,
    tokens: RwLock<Vec<Token>>,
}

impl TokenFile {
    /// Reads a file. Refuses one without tokens: nobody could use the service.
    pub fn open(path: &Path) -> std::result::Result<Self, String> {
        let tokens = read(path)?;
        Ok(Self { path: path.into(), tokens: RwLock::new(tokens) })
    }

    /// Reads the file again; how many tokens it has. If that fails, the tokens stay as they are.
    pub fn reload(&self) -> std::result::Result<usize, String> {
        let tokens = read(&self.path)?;
        let count = tokens.len();
        *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
        Ok(count)
    }

    /// The role of a token, found in a time that does not depend on the token.
    fn role(&self, token: &str) -> Option<Role> {
        let hash = sha256(token.as_bytes());
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = Choice::from(0);
        let mut place = 0_u64;
        for (i, known) in tokens.iter().enumerate() {
            let same = known.hash.ct_eq(&hash);
            place.conditional_assign(&(i as u64), same);
            found |= same;
        }
        bool::from(found).then(|| tokens[place as usize].role)
    }
}

fn read(path: &Path) -> std::result::Result<Vec<Token>, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read the token file {}: {error}", path.display()))?;
    let mut tokens = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // the line itself is not repeated: it may hold a token by mistake
        let refuse = |what: &str| {
            format!(
                "{}, line {}: {what}; a line is ROLE SHA256, as `kalmia serve --print-token ROLE` \
                 prints it",
                path.display(),
                i + 1
            )
        };
        let mut words = line.split_ascii_whitespace();
        let role = words.next().and_then(|word| word.parse().ok());
        let role = role.ok_or_else(|| refuse("it does not start with read, learn or admin"))?;
        let hash = words.next().and_then(unhex);
        let hash = hash.ok_or_else(|| refuse("its second word is no SHA-256 in hexadecimal"))?;
        tokens.push(Token { role, hash });
    }
    if tokens.is_empty() {
        return Err(format!(
            "{} holds no token, so nobody could use the service; `kalmia serve --print-token \
             admin` makes one",
            path.display()
        ));
    }
    Ok(tokens)
}

impl Access {
    /// The role of a request: that of its token.
    pub fn role(&self, headers: &HeaderMap) -> Result<Role> {
        let Self::Tokens(file) = self else { return Ok(Role::Admin) };
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let Some(token) = token else {
            return Err(ApiError::new(Code::Unauthorized, "this service needs a token")
                .hint("send the header `Authorization: Bearer TOKEN`"));
        };
        file.role(token).ok_or_else(|| {
            ApiError::new(Code::Unauthorized, "the token is not known")
                .hint("ask the operator for a line in the token file")
        })
    }

    /// Refuses a request whose token has a weaker role.
    pub fn require(&self, headers: &HeaderMap, role: Role) -> Result<()> {
        let found = self.role(headers)?;
        if found >= role {
            return Ok(());
        }
        let name = found.name();
        Err(ApiError::new(Code::Forbidden, format!("a token of role {name} may not do this"))
            .hint(format!("use a token of role {}", role.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in the system's temporary folder, removed at the end.
    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str, text: &str) -> Self {
            let path = std::env::temp_dir().join(format!("kalmia-{name}-{}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            Self(path)
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_printed_token_opens_and_others_do_not() {
        let made = Role::ALL.map(new_token);
        let text: String =
            made.iter().map(|(_, line)| format!("{line} a comment\n\n# x\n")).collect();
        let file = Temporary::new("tokens", &text);
        let tokens = TokenFile::open(&file.0).unwrap();
        for (role, (token, _)) in Role::ALL.into_iter().zip(&made) {
            assert_eq!(tokens.role(token), Some(role));
            assert_eq!(tokens.role(&token[1..]), None);
        }
        assert_eq!(tokens.role(""), None);
        std::fs::write(&file.0, &made[0].1).unwrap();
        assert_eq!(tokens.reload(), Ok(1));
        assert_eq!(tokens.role(&made[2].0), None);
    }

    #[test]
    fn bad_files_are_refused_and_leave_the_tokens() {
        let (token, line) = new_token(Role::Learn);
        let file = Temporary::new("bad-tokens", &line);
        let tokens = TokenFile::open(&file.0).unwrap();
        for (text, problem) in [
            ("", "holds no token"),
            ("# only a comment", "holds no token"),
            ("root abc", "line 1: it does not start with"),
            ("\nread my-secret-token", "line 2: its second word"),
        ] {
            std::fs::write(&file.0, text).unwrap();
            let error = tokens.reload().unwrap_err();
            assert!(error.contains(problem) && !error.contains("my-secret"), "{error}");
            assert_eq!(tokens.role(&token), Some(Role::Learn));
        }
    }

    #[test]
    fn sha256_is_that_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&sha256(b"abc")), abc);
        assert_eq!(unhex(abc), Some(sha256(b"abc")));
    }
}
