//! Tells at once that a worker of this machine is gone: it holds a lock file that the system releases with its process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::id::WorkerId;

/// A worker's lock file, held until this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Presence {
    path: PathBuf,
    _lock: File,
}

impl Presence {
    /// Takes the lock file of a worker in `folder`, which is made if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn hold(folder: &Path, id: WorkerId) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let path = file_of(folder, id);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)?;
        file.lock()?;
        Ok(Self { path, _lock: file })
    }

    /// Whether the worker is known to be gone: nobody holds its lock file. The file of one that is gone is removed.
    ///
    /// A worker takes its lock before it puts itself on record, so a record without a file is of a worker that is gone.
    /// A file that cannot be looked at says nothing, and the lease decides.
    #[must_use]
    pub fn is_gone(folder: &Path, id: WorkerId) -> bool {
        let path = file_of(folder, id);
        match File::open(&path) {
            Ok(file) => match file.try_lock() {
                Ok(()) => {
                    // Losing a race for the removal is fine: somebody else removed it.
                    let _ = std::fs::remove_file(&path);
                    true
                }
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
            },
            Err(error) => error.kind() == io::ErrorKind::NotFound && folder.is_dir(),
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        // The lock goes with the file handle; a file that stays behind only costs a directory entry.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Where a machine that has one keeps its id.
const MACHINE_ID: &str = "/etc/machine-id";
/// Where the kernel tells the host's name.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// What tells this machine from others that share a store: its machine id, or its host name where it has none.
#[must_use]
pub fn machine() -> String {
    word_in(MACHINE_ID).unwrap_or_else(host)
}

/// What people call this machine.
#[must_use]
pub fn host() -> String {
    word_in(HOST_NAME).unwrap_or_else(|| "localhost".to_owned())
}

fn word_in(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn file_of(folder: &Path, id: WorkerId) -> PathBuf {
    folder.join(format!("{id}.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn a_worker_is_gone_when_nobody_holds_its_lock() {
        let folder = std::env::temp_dir().join(format!("legwork-presence-{}", crate::clock::entropy()));
        let id = WorkerId::new(Timestamp(1), crate::clock::entropy());
        assert!(
            !Presence::is_gone(&folder, id),
            "a folder that is not there says nothing"
        );
        let held = Presence::hold(&folder, id).expect("the lock");
        assert!(!Presence::is_gone(&folder, id));
        drop(held);
        assert!(Presence::is_gone(&folder, id));
        std::fs::remove_dir_all(&folder).expect("cleaned up");
    }
}
