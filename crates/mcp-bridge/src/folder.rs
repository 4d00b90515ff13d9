//! Folders that are nobody else's business.

use std::{fs::DirBuilder, io, path::Path};

/// Makes a folder, and those it is in, for this user alone. One that is there already stays as it is.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
