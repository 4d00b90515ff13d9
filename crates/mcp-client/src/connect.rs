//! Opening a session: negotiates the revision and obtains the server's profile.

mod handshake;
mod negotiation;
mod profile;

pub(crate) use self::handshake::{Opened, declaration, open};
pub use self::profile::ServerProfile;
