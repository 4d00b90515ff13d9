//! Variables that change which program or code runs.

/// Upper-case names. A name that ends in `*` is a prefix.
const NAMES: [&str; 14] = [
    "PATH",
    "PATHEXT",
    "LD_*",
    "DYLD_*",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PYTHON*",
    "RUBYOPT",
    "RUBYLIB",
    "PERL5*",
    "JAVA_TOOL_OPTIONS",
    "BASH_ENV",
    "ENV",
    "NPM_CONFIG_*",
];

/// Whether setting the variable `name` changes which program or code runs. Case is ignored, as npm and
/// Windows do.
pub(crate) fn changes_loading(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    NAMES.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_load_code_match_in_any_case() {
        for name in [
            "PATH",
            "Path",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "RUBYOPT",
            "npm_config_registry",
            "BASH_ENV",
        ] {
            assert!(changes_loading(name), "{name}");
        }
        for name in ["TOKEN", "MY_PATH", "OLD_LD_X", "PATH_INFO", "NODE_ENV", "LANG"] {
            assert!(!changes_loading(name), "{name}");
        }
    }
}
