//! The foreign crates allowed in public signatures. Their major versions become ours, so each needs a reason.

use std::{collections::BTreeMap, fs, path::Path};

/// One line per crate: `package: crate | reason`.
const FILE: &str = "xtask/api-foreign.txt";

/// The allowed foreign crates of each package.
#[derive(Debug, Default)]
pub(super) struct Allowed(BTreeMap<String, Vec<String>>);

impl Allowed {
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(root.join(FILE))
            .map_err(|error| format!("cannot read {FILE}: {error}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut allowed = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (entry, reason) = line.split_once(" | ").unwrap_or((line, ""));
            match entry.split_once(": ") {
                Some((package, foreign)) if !reason.trim().is_empty() => {
                    allowed.0.entry(package.to_owned()).or_default().push(foreign.to_owned());
                }
                _ => return Err(format!("{FILE}: not `package: crate | reason`: {line}")),
            }
        }
        Ok(allowed)
    }

    /// One finding for each type of a crate that is not allowed, and each row that is not needed.
    pub(super) fn judge(&self, package: &str, types: &[String]) -> Vec<String> {
        let none = Vec::new();
        let allowed = self.0.get(package).unwrap_or(&none);
        let krate = |ty: &str| ty.split("::").next().unwrap_or_default().to_owned();
        let is_ours = |ty: &&String| ty.starts_with("mcp_");
        let foreign: Vec<&String> = types.iter().filter(|ty| !is_ours(ty)).collect();
        let unknown = foreign.iter().filter(|ty| !allowed.contains(&krate(ty)));
        let unknown = unknown.map(|ty| format!("`{ty}` is public, and {FILE} does not allow it"));
        let unused = allowed.iter().filter(|name| !foreign.iter().any(|ty| krate(ty) == **name));
        let unused = unused.map(|name| format!("{FILE} allows `{name}`, which is not public"));
        unknown.chain(unused).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_types_need_a_row_and_rows_need_a_type() {
        let allowed =
            Allowed::parse("# why\nmcp-a: bytes | payloads\nmcp-a: url | addresses\n").unwrap();
        let types = ["bytes::Bytes", "http::Uri", "mcp_types::Tool"].map(str::to_owned);
        assert_eq!(
            allowed.judge("mcp-a", &types),
            [
                "`http::Uri` is public, and xtask/api-foreign.txt does not allow it",
                "xtask/api-foreign.txt allows `url`, which is not public",
            ]
        );
        assert!(allowed.judge("mcp-b", &types[2..]).is_empty());
    }

    #[test]
    fn a_row_needs_a_reason() {
        assert!(Allowed::parse("mcp-a: bytes\n").unwrap_err().ends_with("mcp-a: bytes"));
    }
}
