//! Private files: readable only by their owner, replaced atomically, with lock files.
//!
//! - [`create_folder`], [`private_folder`]: folders of mode 0700, regardless of the umask;
//! - [`create`]: a new file of mode 0600; [`replace`]: replaces a file; [`Draft`]: replaces a file in two steps, and
//!   with [`Draft::keeping`] keeps the owner and mode of the user's file; [`open_private`]: a log or lock file;
//! - [`read`], [`read_own`] and [`read_private`]: regular files of limited size, the second with a check of who can
//!   write them, the third also of who can read them;
//! - [`Lock`]: exclusion between processes; [`find_program`]: the file that a command starts.
//!
//! All functions block. On systems without Unix modes, files have only the protection of their folder.

mod draft;
mod folder;
mod lock;
mod open;
#[cfg(unix)]
mod owner;
mod program;
mod read;

pub use draft::{Draft, create, follow, replace};
pub use folder::{create_folder, private_folder};
pub use lock::Lock;
pub use open::open_private;
pub use program::{find_program, is_program};
pub use read::{read, read_own, read_private};
