//! Builds the archive, the Debian package, the wheel and the npm package from one tree.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use super::{binary::Binary, commit_time, files, sbom};
use crate::process::capture;

const ABOUT: &str = "Every MCP server you have, in a terminal or behind one gateway";

/// The second name, for machines with another program named `mcp`.
const SECOND: &str = "mcph";

/// Completion files by shell, in the folders where the shells look for them.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/mcp"),
    ("zsh", "share/zsh/site-functions/_mcp"),
    ("fish", "share/fish/vendor_completions.d/mcp.fish"),
];

pub(super) struct Release {
    pub(super) version: String,
    /// The installed files: `bin/mcp`, `share/…`.
    pub(super) tree: PathBuf,
    /// The output folder.
    pub(super) out: PathBuf,
    pub(super) static_linked: bool,
}

impl Release {
    /// Fills the tree.
    pub(super) fn stage(&self, binary: &Binary, root: &Path) -> Result<(), String> {
        let program = self.tree.join("bin/mcp");
        files::copy(&binary.path, &program)?;
        files::set_executable(&program)?;
        for (shell, place) in COMPLETIONS {
            files::write(&self.tree.join(place), binary.prints(&["completions", shell])?)?;
        }
        files::write(&self.tree.join("share/man/man1/mcp.1"), binary.prints(&["man"])?)?;
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            files::copy(&root.join(name), &self.tree.join("share/doc/mcph").join(name))?;
        }
        files::set_times(&self.tree, commit_time()?)
    }

    /// The tree as `mcph-VERSION-x86_64-linux.tar.gz`.
    pub(super) fn archive(&self) -> Result<PathBuf, String> {
        let name = format!("mcph-{}-x86_64-linux", self.version);
        let folder = self.out.join(&name);
        files::copy_all(&self.tree, &folder)?;
        files::link("mcp", &folder.join("bin").join(SECOND))?;
        let file = self.out.join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        tar.args([
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--use-compress-program=gzip -n",
        ]);
        tar.arg(format!("--mtime=@{}", commit_time()?));
        capture(
            tar.arg("--create")
                .arg("--file")
                .arg(&file)
                .arg("--directory")
                .arg(&self.out)
                .arg(&name),
        )?;
        Ok(file)
    }

    pub(super) fn debian(&self) -> Result<PathBuf, String> {
        let folder = self.out.join("deb");
        files::copy_all(&self.tree, &folder.join("usr"))?;
        files::link("mcp", &folder.join("usr/bin").join(SECOND))?;
        let kibibytes =
            files::list(&folder)?.iter().map(|file| files::bytes(file)).sum::<Result<u64, _>>()?
                >> 10;
        // Only the dev profile links a C library.
        let depends = if self.static_linked { "" } else { "Depends: libc6, libgcc-s1\n" };
        let control = format!(
            "Package: mcph\nVersion: {}\nArchitecture: amd64\nMaintainer: The mcph project\nSection: utils\n\
             Priority: optional\nInstalled-Size: {kibibytes}\n{depends}Description: {ABOUT}\n \
             A host of the Model Context Protocol: it finds, starts, asks and joins servers.\n",
            self.version
        );
        files::write(&folder.join("DEBIAN/control"), control)?;
        let file = self.out.join(format!("mcph_{}_amd64.deb", self.version));
        let mut build = Command::new("dpkg-deb");
        build.env("SOURCE_DATE_EPOCH", commit_time()?.to_string());
        // A dev binary is large and temporary.
        let compression: &[&str] = if self.static_linked { &["-Zxz"] } else { &["-Zgzip", "-z1"] };
        build.arg("--root-owner-group").args(compression).arg("--build");
        capture(build.arg(&folder).arg(&file))?;
        Ok(file)
    }

    /// A wheel is a zip archive; pip installs its `scripts` and `data` into the environment.
    pub(super) fn wheel(&self) -> Result<PathBuf, String> {
        let version = &self.version;
        let folder = self.out.join("wheel");
        let data = folder.join(format!("mcph-{version}.data"));
        files::copy(&self.tree.join("bin/mcp"), &data.join("scripts/mcp"))?;
        // Wheels cannot contain links, and a second copy would double the download.
        let second = data.join("scripts").join(SECOND);
        files::write(&second, "#!/bin/sh\nexec \"${0%/*}/mcp\" \"$@\"\n")?;
        files::set_executable(&second)?;
        files::copy_all(&self.tree.join("share"), &data.join("data/share"))?;
        let info = folder.join(format!("mcph-{version}.dist-info"));
        let metadata = format!(
            "Metadata-Version: 2.1\nName: mcph\nVersion: {version}\nSummary: {ABOUT}\nLicense: MIT OR Apache-2.0\n"
        );
        files::write(&info.join("METADATA"), metadata)?;
        // A static binary does not need a C library, so it fits both platforms.
        let tags = ["py3-none-manylinux_2_17_x86_64", "py3-none-musllinux_1_1_x86_64"];
        let tags = if self.static_linked { &tags[..] } else { &["py3-none-linux_x86_64"] };
        let tags: Vec<String> = tags.iter().map(|tag| format!("Tag: {tag}\n")).collect();
        let tags = tags.concat();
        let wheel = format!("Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: false\n{tags}");
        files::write(&info.join("WHEEL"), wheel)?;
        files::write(&info.join("RECORD"), record(&folder, &info)?)?;
        files::set_times(&folder, commit_time()?)?;
        let platform = if self.static_linked {
            "manylinux_2_17_x86_64.musllinux_1_1_x86_64"
        } else {
            "linux_x86_64"
        };
        let file = self.out.join(format!("mcph-{version}-py3-none-{platform}.whl"));
        let mut zip = Command::new("python3");
        zip.current_dir(&folder).args(["-m", "zipfile", "--create"]).arg(&file);
        capture(zip.args([data.file_name(), info.file_name()].into_iter().flatten()))?;
        Ok(file)
    }

    pub(super) fn npm(&self) -> Result<PathBuf, String> {
        let folder = self.out.join("npm");
        files::copy_all(&self.tree, &folder)?;
        let manifest = json!({
            "name": "mcph",
            "version": self.version,
            "description": ABOUT,
            "license": "(MIT OR Apache-2.0)",
            "bin": {"mcp": "bin/mcp", SECOND: "bin/mcp"},
            "man": ["share/man/man1/mcp.1"],
            "files": ["bin", "share"],
            "os": ["linux"],
            "cpu": ["x64"],
        });
        files::write(&folder.join("package.json"), format!("{manifest:#}\n"))?;
        let mut pack = Command::new("npm");
        pack.current_dir(&folder).args([
            "pack",
            "--ignore-scripts",
            "--silent",
            "--pack-destination",
        ]);
        capture(pack.arg(&self.out))?;
        Ok(self.out.join(format!("mcph-{}.tgz", self.version)))
    }

    pub(super) fn sbom(&self) -> Result<PathBuf, String> {
        let file = self.out.join(format!("mcph-{}.cdx.json", self.version));
        files::write(&file, format!("{:#}\n", sbom::make()?))?;
        Ok(file)
    }
}

/// The `RECORD` of a wheel: each file with its hash and size, except for the record itself.
fn record(folder: &Path, info: &Path) -> Result<String, String> {
    let mut lines = Vec::new();
    for file in files::list(folder)? {
        let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        let hash = base64(&files::sha256(&file)?);
        lines.push(format!("{name},sha256={hash},{}\n", files::bytes(&file)?));
    }
    let own = info.strip_prefix(folder).unwrap_or(info).display();
    lines.push(format!("{own}/RECORD,,\n"));
    Ok(lines.concat())
}

/// Converts hexadecimal digits to URL-safe base64 without padding.
fn base64(hex: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bit = |digit: u32| (0..4).rev().map(move |place| (digit >> place & 1) as usize);
    let bits: Vec<usize> = hex.chars().filter_map(|c| c.to_digit(16)).flat_map(bit).collect();
    let sextets = bits.chunks(6).map(|chunk| {
        let value = chunk.iter().fold(0, |value, bit| value << 1 | bit);
        char::from(DIGITS[value << (6 - chunk.len())])
    });
    sextets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_a_wheel_are_base64_without_padding() {
        assert_eq!(base64("00"), "AA");
        assert_eq!(base64("ffef"), "_-8");
        assert_eq!(base64("4d616e"), "TWFu");
    }
}
