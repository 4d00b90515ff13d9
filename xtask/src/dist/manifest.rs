//! Renames packages in manifests and links: every package gets the prefix, every library keeps its name.
//!
//! In the repository, folder, package and library names are equal. Some of them are taken in the registry, so the copy
//! that is published renames `mcp-client` to `mcph-client`. A dependency keeps its key and gets `package = …`, so
//! that source code does not change.

use crate::{book::links, workspace::Package};

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

/// Pages of the registry and of its documentation, before the name of a package.
const PAGES: &[&str] = &["https://docs.rs/", "https://docs.rs/crate/", "https://crates.io/crates/"];

/// A README or a source file: links to pages of our packages lead to the renamed ones.
pub(super) fn linked(text: &str, ours: &[String], prefix: &str) -> String {
    let ends =
        |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "-_".contains(c));
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("https://") {
        let (before, link) = rest.split_at(at);
        out.push_str(before);
        let package = PAGES.iter().find_map(|page| {
            let after = link.strip_prefix(page)?;
            let name =
                ours.iter().find(|name| after.strip_prefix(name.as_str()).is_some_and(ends))?;
            Some((*page, name))
        });
        if let Some((page, name)) = package {
            out.push_str(page);
            out.push_str(&renamed(name, prefix));
            rest = &link[page.len() + name.len()..];
        } else {
            let (scheme, after) = link.split_at("https://".len());
            out.push_str(scheme);
            rest = after;
        }
    }
    out + rest
}

/// A Markdown page of the package in `folder`: besides [`linked`], links that leave the package lead to the repository,
/// and a README says how package and library are called.
pub(super) fn page(
    text: &str,
    path: &str,
    package: &Package,
    ours: &[String],
    prefix: &str,
) -> String {
    let repository = package.repository.as_deref().unwrap_or_default();
    let inside = format!("{}/", package.folder);
    let text = links::rewrite(text, |link| {
        let file = link.file(path).filter(|file| !file.starts_with(&inside))?;
        let anchor = link.anchor.as_ref().map(|anchor| format!("#{anchor}")).unwrap_or_default();
        Some(format!("{repository}/blob/main/{file}{anchor}"))
    });
    let text = linked(&text, ours, prefix);
    let heading = format!("# {}\n", package.name);
    if !package.is_library || !text.starts_with(&heading) {
        return text;
    }
    let (new, library) = (renamed(&package.name, prefix), package.name.replace('-', "_"));
    text.replacen(
        &heading,
        &format!("# {new}\n\nThe package is `{new}`, the library `{library}`.\n"),
        1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_pages_of_our_packages_lead_to_the_renamed_ones() {
        let ours = ["mcp-client".to_owned(), "mcp-tool".to_owned()];
        for (before, after) in [
            ("[a]: https://docs.rs/mcp-client\n", "[a]: https://docs.rs/mcph-client\n"),
            (
                "<https://docs.rs/mcp-tool/latest/mcp_tool/trait.Tool.html>",
                "<https://docs.rs/mcph-tool/latest/mcp_tool/trait.Tool.html>",
            ),
            ("(https://docs.rs/crate/mcp-client)", "(https://docs.rs/crate/mcph-client)"),
            ("https://crates.io/crates/mcp-client.", "https://crates.io/crates/mcph-client."),
            ("https://docs.rs/mcp-client-extra", "https://docs.rs/mcp-client-extra"),
            ("https://docs.rs/serde https://", "https://docs.rs/serde https://"),
        ] {
            assert_eq!(linked(before, &ours, "mcph"), after);
        }
    }

    #[test]
    fn links_of_a_readme_that_leave_its_package_lead_to_the_repository() {
        let package = Package {
            name: "mcp-client".into(),
            folder: "crates/mcp-client".into(),
            repository: Some("https://r".into()),
            is_library: true,
            ..Package::default()
        };
        let ours = ["mcp-client".to_owned()];
        let text = "# mcp-client\n\n[a](../../docs/a.md#b) [c](examples/c.rs) [d](https://docs.rs/mcp-client)\n";
        let page = page(text, "crates/mcp-client/README.md", &package, &ours, "mcph");
        assert_eq!(
            page,
            "# mcph-client\n\nThe package is `mcph-client`, the library `mcp_client`.\n\n\
             [a](https://r/blob/main/docs/a.md#b) [c](examples/c.rs) [d](https://docs.rs/mcph-client)\n"
        );
    }

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
