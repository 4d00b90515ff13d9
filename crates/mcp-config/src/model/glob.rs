//! Glob matching with `*` and `?`. It backtracks only to the last `*`: quadratic time at worst, no
//! allocation.

/// Whether the whole of `text` matches `glob`: `*` is any run of characters, `?` exactly one.
///
/// ```
/// assert!(mcp_config::model::glob_matches("mcp:*:read_?", "mcp:files:read_1"));
/// ```
pub fn matches(glob: &str, text: &str) -> bool {
    let (glob, text) = (glob.as_bytes(), text.as_bytes());
    let (mut g, mut t) = (0, 0);
    // Where to resume after a `*`. Only the latest one can need to consume more text.
    let mut star = None;
    while t < text.len() {
        match glob.get(g) {
            Some(b'*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(b'?') => {
                g += 1;
                t += 1;
                while text.get(t).is_some_and(|byte| byte & 0xc0 == 0x80) {
                    t += 1;
                }
            }
            Some(byte) if *byte == text[t] => {
                g += 1;
                t += 1;
            }
            _ => match &mut star {
                Some((after, resume)) => {
                    *resume += 1;
                    (g, t) = (*after + 1, *resume);
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (glob, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*_delete_*", "issue_delete_all", true),
            ("?", "é", true),
            ("??", "é", false),
            ("", "a", false),
            ("a**b", "ab", true),
        ] {
            assert_eq!(matches(glob, text), expected, "{glob} {text}");
        }
    }
}
