//! The list of names of secrets.

/// A word that marks a name as that of a secret.
struct Word {
    spelling: &'static str,
    fit: Fit,
    place: Place,
    /// Prefixes of other words that contain this one but have another meaning.
    except: &'static [&'static str],
}

/// How a word of a name must match. A plural `s` and final digits are ignored.
enum Fit {
    Whole,
    End,
    /// At either end, as in `dbpassword` and `tokenvalue`.
    Edge,
}

/// Where the word has this meaning.
#[derive(PartialEq)]
enum Place {
    Anywhere,
    /// In variables, flags, headers and query parameters. As members of data, `key` and `auth` are
    /// ordinary names.
    Settings,
}

const fn anywhere(spelling: &'static str, fit: Fit, except: &'static [&'static str]) -> Word {
    Word { spelling, fit, place: Place::Anywhere, except }
}

const fn settings(spelling: &'static str, fit: Fit, except: &'static [&'static str]) -> Word {
    Word { spelling, fit, place: Place::Settings, except }
}

const WORDS: &[Word] = &[
    anywhere("authorization", Fit::Edge, &[]),
    anywhere("bearer", Fit::Whole, &[]),
    anywhere("cookie", Fit::Edge, &["cookiecutter"]),
    anywhere("credential", Fit::Edge, &[]),
    anywhere("cred", Fit::Whole, &[]),
    anywhere("dsn", Fit::Whole, &[]),
    anywhere("jwt", Fit::Whole, &[]),
    anywhere("pass", Fit::Whole, &[]),
    anywhere("passcode", Fit::Edge, &[]),
    anywhere("passphrase", Fit::Edge, &[]),
    anywhere("passw", Fit::Edge, &[]),
    anywhere("password", Fit::Edge, &[]),
    anywhere("passwd", Fit::Edge, &[]),
    anywhere("pat", Fit::Whole, &[]),
    anywhere("pwd", Fit::Edge, &[]),
    anywhere("secret", Fit::Edge, &["secretar"]),
    anywhere("token", Fit::Edge, &["tokenis", "tokeniz"]),
    settings("auth", Fit::Edge, &["author"]),
    settings("header", Fit::Whole, &[]),
    settings(
        "key",
        Fit::End,
        &["donkey", "hockey", "hotkey", "jockey", "monkey", "turkey", "whiskey"],
    ),
];

/// Names of two words in any notation: `apiKey`, `API_KEY`, `x-api-key`, `apikey`.
const PAIRS: &[&str] = &[
    "accesskey",
    "accountkey",
    "apikey",
    "authkey",
    "connectionstring",
    "encryptionkey",
    "masterkey",
    "privatekey",
    "signingkey",
    "sshkey",
];

/// Names that contain a word of the list but are not secrets: the progress token, a limit, and the working
/// directory of a shell.
const EXCEPT: &[&str] = &["progresstoken", "maxtokens"];
const SHELL: &[&str] = &["PWD", "OLDPWD"];

/// The longest name. Longer text before a `=` or `:` is not a name.
const LONGEST: usize = 64;

/// Whether a setting with this name holds a secret: an environment variable, a flag, a header, or a query
/// parameter, in any notation.
///
/// ```
/// use mcp_safe::secrets::is_secret_name;
///
/// for name in ["API_KEY", "--pat", "SESSION_COOKIE", "X-Auth-Token", "dbPassword", "SENTRY_DSN"] {
///     assert!(is_secret_name(name), "{name}");
/// }
/// for name in ["PATH", "KEYBOARD", "author", "NODE_ENV", "--max-tokens", "TOKENIZERS_PARALLELISM"] {
///     assert!(!is_secret_name(name), "{name}");
/// }
/// ```
pub fn is_secret_name(name: &str) -> bool {
    is_secret(name, &Place::Settings)
}

/// Whether a member with this name in foreign data, such as a JSON object, holds a secret. Names that are
/// ordinary in data do not count: `key` may be the key of a map, but `apiKey` is a secret.
///
/// ```
/// use mcp_safe::secrets::is_secret_member;
///
/// assert!(is_secret_member("apiKey") && is_secret_member("pwd") && is_secret_member("client_secret"));
/// assert!(!is_secret_member("key") && !is_secret_member("progressToken"));
/// ```
pub fn is_secret_member(name: &str) -> bool {
    is_secret(name, &Place::Anywhere)
}

fn is_secret(name: &str, place: &Place) -> bool {
    if name.len() > LONGEST || SHELL.contains(&name) {
        return false;
    }
    let joined: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    if EXCEPT.contains(&joined.as_str()) {
        return false;
    }
    PAIRS.iter().any(|pair| joined.contains(pair))
        || words(name).any(|word| WORDS.iter().any(|known| known.is(word, place)))
}

impl Word {
    fn is(&self, word: &str, place: &Place) -> bool {
        if self.place == Place::Settings && *place == Place::Anywhere {
            return false;
        }
        let (word, known) = (word.as_bytes(), self.spelling.as_bytes());
        let singular = match word {
            [start @ .., b's' | b'S'] => start,
            word => word,
        };
        let starts = |known: &[u8]| {
            word.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known))
        };
        let ends = |word: &[u8]| {
            let start = word.len().checked_sub(known.len());
            start.is_some_and(|start| word[start..].eq_ignore_ascii_case(known))
        };
        let fits = match self.fit {
            Fit::Whole => [word, singular].iter().any(|word| word.eq_ignore_ascii_case(known)),
            Fit::End => ends(word) || ends(singular),
            Fit::Edge => starts(known) || ends(word) || ends(singular),
        };
        fits && !self.except.iter().any(|other| starts(other.as_bytes()))
    }
}

/// The words of a name, without final digits: split at non-alphanumeric characters and at changes of case, as in
/// `userPAT` and `APIKey`.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (word, after) = rest.split_at(end_of_word(rest.as_bytes()));
            rest = after;
            Some(word.trim_end_matches(|c: char| c.is_ascii_digit()))
        })
    })
}

fn end_of_word(part: &[u8]) -> usize {
    let is_break = |at: &usize| {
        let [before, here] = [part[at - 1], part[*at]];
        let next_is_lower = part.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        here.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_is_lower)
    };
    (1..part.len()).find(is_break).unwrap_or(part.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_names_are_recognised_in_any_notation() {
        let names = "TOKEN apitoken apiToken GITHUB_TOKEN GITHUBTOKEN2 TOKEN_1 access_tokens KEY --key \
            OPENAI_API_KEY openaiApiKey APIKey sshkey AWS_SECRET_ACCESS_KEY secret clientSecret SECRETS \
            DB_PASSWORD dbpassword PASSWD --passwd-file passphrase DB_PASS pwd DB_PWD --pwd userPwd \
            CREDENTIALS GOOGLE_APPLICATION_CREDENTIALS creds AUTH oauth2 --basic-auth NPM_CONFIG__AUTH \
            authkey Proxy-Authorization authentication COOKIE Set-Cookie sessionCookie PAT --pat \
            GITHUB_PAT userPAT SENTRY_DSN --header HEADERS jwt AZURE_STORAGE_CONNECTION_STRING";
        for name in names.split_whitespace() {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn ordinary_names_are_not_secret() {
        let names = "PATH path githubPath pattern patch keyboard KEYBOARD_LAYOUT keyword monkey monkeys \
            author AUTHORS co-author tokenizer TOKENIZERS_PARALLELISM secretary compass bypass passport \
            PWD OLDPWD progressToken --max-tokens NODE_ENV cookiecutter --port 日本";
        for name in names.split_whitespace().chain(["", &"long ".repeat(13), &"token ".repeat(11)])
        {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn ordinary_data_members_are_not_secret() {
        for name in ["key", "issueKey", "primary_key", "auth", "headers", "keys"] {
            assert!(!is_secret_member(name) && is_secret_name(name), "{name}");
        }
        for name in ["apiKey", "private_key", "token", "pwd", "dsn", "Authorization", "x-api-key"] {
            assert!(is_secret_member(name), "{name}");
        }
    }

    #[test]
    fn limits_of_names_are_exact() {
        assert!(is_secret_name(&format!("{}_TOKEN", "A".repeat(58))));
        assert!(!is_secret_name(&format!("{}_TOKEN", "A".repeat(59))));
        assert_eq!(words("aB--CDe9_f10").collect::<Vec<_>>(), ["a", "B", "C", "De", "f"]);
        assert!(is_secret_name("dbpasswords") && is_secret_name("dbpassword"));
        assert!(!is_secret_name("to") && !is_secret_name("s") && !is_secret_name("ss"));
    }
}
