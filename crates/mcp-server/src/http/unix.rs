//! A Unix socket for one user: mode 0600 in a folder of mode 0700, with the uid of every client checked.

use std::{
    fs, io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use mcp_types::BoxFuture;
use tokio::net::{UnixListener, UnixStream};

use super::listen::{Connection, Listen};

/// A Unix socket that only processes of the current user can use.
///
/// Dropping it removes the socket's file.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The uid of the current user.
    owner: u32,
    /// Device and inode of the socket's file.
    file: (u64, u64),
}

impl UnixSocket {
    /// Listens at `path`. The folder is created if it is missing; otherwise it must belong to this user and deny access
    /// to others. A stale socket of an ended process is replaced; one with a listener is not.
    ///
    /// Blocks for a moment, and must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied) if others have access to the folder,
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if a process listens at `path`,
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if another kind of file exists there, and any error of
    /// binding the socket.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        mcp_safe::fs::create_folder(folder)?;
        let about = fs::metadata(folder)?;
        if about.mode() & 0o077 != 0 {
            return Err(others_have_access(folder));
        }
        remove_stale(path)?;
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let socket = fs::symlink_metadata(path)?;
        let file = (socket.dev(), socket.ino());
        let bound = Self { listener, path: path.to_owned(), owner: socket.uid(), file };
        if about.uid() != bound.owner {
            return Err(others_have_access(folder));
        }
        Ok(bound)
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // Another process may have created its own socket there.
        let is_ours = |about: fs::Metadata| (about.dev(), about.ino()) == self.file;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Listen for UnixSocket {
    fn accept(&mut self) -> BoxFuture<'_, io::Result<Connection>> {
        Box::pin(async {
            loop {
                let (stream, _) = self.listener.accept().await?;
                if is_owner(&stream, self.owner) {
                    return Ok(Connection::new(stream, None));
                }
                tracing::warn!(socket = %self.path.display(), "rejected a connection of another user");
            }
        })
    }
}

/// The credentials of a connected process, as reported by the kernel.
trait Credentials {
    fn uid(&self) -> io::Result<u32>;
}

impl Credentials for UnixStream {
    fn uid(&self) -> io::Result<u32> {
        self.peer_cred().map(|peer| peer.uid())
    }
}

/// Whether a client runs as `owner`. False if its credentials are unknown.
fn is_owner(client: &impl Credentials, owner: u32) -> bool {
    client.uid().is_ok_and(|uid| uid == owner)
}

fn others_have_access(folder: &Path) -> io::Error {
    let problem = format!(
        "other users have access to the folder {}; use a folder of mode 0700 that you own",
        folder.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, problem)
}

/// Removes the socket of a process that has ended.
fn remove_stale(path: &Path) -> io::Result<()> {
    let about = match fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !about.file_type().is_socket() {
        let problem = format!("{} exists and is not a socket", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => {
            let problem = format!("another process listens at {}", path.display());
            Err(io::Error::new(io::ErrorKind::AddrInUse, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process with these credentials.
    struct Process(Option<u32>);

    impl Credentials for Process {
        fn uid(&self) -> io::Result<u32> {
            self.0.ok_or_else(|| io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn only_processes_of_the_owner_are_accepted() {
        assert!(is_owner(&Process(Some(1000)), 1000));
        assert!(!is_owner(&Process(Some(1001)), 1000));
        assert!(!is_owner(&Process(Some(0)), 1000));
        assert!(!is_owner(&Process(None), 1000), "unknown credentials");
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[tokio::test]
    async fn socket_is_private_and_removed_when_dropped() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run/mcp/gateway.sock");
        let socket = UnixSocket::bind(&path).unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        let error = UnixSocket::bind(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse, "{error}");
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn socket_of_an_ended_process_is_replaced_and_other_files_are_not() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run/gateway.sock");
        mcp_safe::fs::create_folder(path.parent().unwrap()).unwrap();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(UnixSocket::bind(&path).unwrap());
        fs::write(&path, "text").unwrap();
        let error = UnixSocket::bind(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "text");
    }

    #[tokio::test]
    async fn folder_open_to_others_is_refused_and_left_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("open");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let error = UnixSocket::bind(&folder.join("gateway.sock")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        assert_eq!((mode(&folder), folder.join("gateway.sock").exists()), (0o755, false));
    }
}
