//! Renames packages in manifests: every package gets the prefix, every library keeps its name.
//!
//! In the repository, folder, package and library names are equal. Some of them are taken in the registry, so the copy
//! that is published renames `mcp-client` to `mcph-client`. A dependency keeps its key and gets `package = …`, so
//! that source code does not change.

/// `mcp-client` as `mcph-client`.
pub(super) fn renamed(package: &str, prefix: &str) -> String {
    format!("{prefix}-{}", package.strip_prefix("mcp-").unwrap_or(package))
}

/// The root manifest: members, and the dependencies on our packages.
pub(super) fn root(text: &str, ours: &[String], prefix: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("members = ") {
            return "members = [\"crates/*\", \"tests/skip\"]".to_owned();
        }
        let Some((key, value)) = line.split_once(" = { ") else { return line.to_owned() };
        if ours.iter().any(|name| name == key) {
            return format!("{key} = {{ package = \"{}\", {value}", renamed(key, prefix));
        }
        line.to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// The manifest of one of our packages.
pub(super) fn member(text: &str, package: &str, is_library: bool, prefix: &str) -> String {
    let new = renamed(package, prefix);
    let mut out = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        if line.starts_with('[') {
            // The library's name no longer follows from that of the package.
            if section == "[package]" && is_library {
                out.extend([
                    "[lib]".to_owned(),
                    format!("name = \"{}\"", package.replace('-', "_")),
                    String::new(),
                ]);
            }
            line.clone_into(&mut section);
        }
        out.push(match section.as_str() {
            "[package]" if line == format!("name = \"{package}\"") => format!("name = \"{new}\""),
            "[package]" if line.starts_with("documentation = ") => line.replace(package, &new),
            // A package that depends on itself to enable features for its tests.
            "[dev-dependencies]" if line.starts_with(&format!("{package} = {{ ")) => {
                line.replacen("{ ", &format!("{{ package = \"{new}\", "), 1)
            }
            _ => line.to_owned(),
        });
    }
    out.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependency_on_the_package_itself_is_renamed() {
        let text =
            "[package]\nname = \"mcp-host\"\n\n[dev-dependencies]\nmcp-host = { path = \".\" }\n";
        let renamed = member(text, "mcp-host", false, "mcph");
        assert!(
            renamed.ends_with("mcp-host = { package = \"mcph-host\", path = \".\" }\n"),
            "{renamed}"
        );
    }

    #[test]
    fn renamed_package_keeps_its_library_name() {
        let text = "[package]\nname = \"mcp-client\"\ndocumentation = \"https://docs.rs/mcp-client\"\n\n\
                    [features]\nhttp = [\"mcp-transport/http\"]\n\n[dependencies]\nmcp-types.workspace = true\n";
        assert_eq!(
            member(text, "mcp-client", true, "mcph"),
            "[package]\nname = \"mcph-client\"\ndocumentation = \"https://docs.rs/mcph-client\"\n\n\
             [lib]\nname = \"mcp_client\"\n\n\
             [features]\nhttp = [\"mcp-transport/http\"]\n\n[dependencies]\nmcp-types.workspace = true\n"
        );
        assert!(!member(text, "mcp-client", false, "mcph").contains("[lib]"));
    }

    #[test]
    fn renamed_dependencies_keep_their_keys() {
        let ours = ["mcp-types".to_owned()];
        let text = "members = [\"crates/*\", \"xtask\"]\nmcp-types = { path = \"crates/mcp-types\" }\nurl = { version = \"2\" }\n";
        assert_eq!(
            root(text, &ours, "mcph"),
            "members = [\"crates/*\", \"tests/skip\"]\n\
             mcp-types = { package = \"mcph-types\", path = \"crates/mcp-types\" }\nurl = { version = \"2\" }\n"
        );
    }
}
