//! The chain of seals: plain state, without files.

use crate::key::{AuditKey, Seal, from_hex, hex};

/// Separates the text of a line from its seal. Quotes inside JSON strings are escaped, so the last one in a line is
/// the separator.
const SEPARATOR: &str = r#","mac":""#;
const END: &str = r#""}"#;
const START: &str = r#"{"seq":"#;

/// The last line of a log: the next one continues from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Its number. The first line has number 1.
    pub(crate) seq: u64,
    pub(crate) seal: Seal,
}

impl Link {
    /// Before the first line.
    pub(crate) const START: Self = Self { seq: 0, seal: [0; 32] };

    /// Seals `body` as the next line, without a line break, and moves on to it.
    pub(crate) fn append(&mut self, key: &AuditKey, body: &str) -> String {
        self.seal = key.of_line(&self.seal, body);
        self.seq += 1;
        format!("{body}{SEPARATOR}{}{END}", hex(&self.seal))
    }
}

/// A line, taken apart. Nothing is verified yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sealed<'l> {
    pub(crate) body: &'l str,
    pub(crate) link: Link,
}

impl<'l> Sealed<'l> {
    /// `None` if the line does not have the form of one.
    pub(crate) fn parse(line: &'l str) -> Option<Self> {
        let (body, seal) = line.strip_suffix(END)?.rsplit_once(SEPARATOR)?;
        let digits = body.strip_prefix(START)?.split_once(',')?.0;
        let seq = digits.parse().ok().filter(|seq| *seq > 0)?;
        Some(Self { body, link: Link { seq, seal: from_hex(seal)? } })
    }

    /// Whether the line follows `previous` unchanged.
    pub(crate) fn follows(&self, previous: &Link, key: &AuditKey) -> bool {
        self.link.seq == previous.seq + 1
            && key.of_line(&previous.seal, self.body) == self.link.seal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_follows_only_its_predecessor() {
        let key = AuditKey::generate().unwrap();
        let mut link = Link::START;
        let first = link.append(&key, r#"{"seq":1,"event":"call""#);
        let after_first = link;
        let second = link.append(&key, r#"{"seq":2,"note":",\"mac\":\"""#);
        let (first, second) = (Sealed::parse(&first).unwrap(), Sealed::parse(&second).unwrap());
        assert!(first.follows(&Link::START, &key) && second.follows(&after_first, &key));
        assert!(!second.follows(&Link::START, &key));
        assert!(!first.follows(&Link::START, &AuditKey::generate().unwrap()));
    }

    #[test]
    fn other_text_is_not_a_line() {
        let seal = "0".repeat(64);
        for text in [
            "",
            "{}",
            r#"{"seq":1,"mac":""}"#,
            &format!(r#"{{"seq":0,"a":1,"mac":"{seal}"}}"#),
            &format!(r#"{{"seq":-1,"a":1,"mac":"{seal}"}}"#),
            &format!(r#"{{"seq":1,"a":1,"mac":"{seal}"}} "#),
            &format!(r#"{{"seq":1,"a":1,"mac":"{}"}}"#, "g".repeat(64)),
        ] {
            assert_eq!(Sealed::parse(text), None, "{text}");
        }
    }
}
