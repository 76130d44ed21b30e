//! The folder of artifacts: bytes kept under the name of their SHA-256.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::{ContentHash, FILE_BYTES_MAX};

/// Half-written files wait here, on the same file system, for their rename.
const TEMPORARY_FOLDER: &str = "tmp";
/// Tries to find a temporary name that no other process holds. Names carry the process id and a counter, so a
/// second try is needed only after a crash and a reused process id.
const NAME_TRIES: u32 = 1_000;

/// Why an artifact could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// More bytes than an artifact may have.
    #[error("the artifact has {size} bytes: at most {FILE_BYTES_MAX} are kept")]
    TooLarge {
        /// How many it has.
        size: u64,
    },
    /// No artifact of this name is kept.
    #[error("no artifact {hash} is kept")]
    Missing {
        /// Its name.
        hash: ContentHash,
    },
    /// The kept bytes do not have the hash that names them.
    #[error("the artifact {hash} is damaged: its bytes have the hash {found}")]
    Corrupt {
        /// Its name.
        hash: ContentHash,
        /// The hash of what is kept.
        found: ContentHash,
    },
    /// The disk or the user's share of it has no room left: free some and try again.
    #[error("no space left on the disk that holds {}", folder.display())]
    DiskFull {
        /// The folder of artifacts.
        folder: PathBuf,
    },
    /// The file system refused.
    #[error("the folder of artifacts {} cannot be used: {source}", folder.display())]
    Io {
        /// The folder of artifacts.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A folder of artifacts, shared by any number of processes.
///
/// An artifact appears whole or not at all and never changes. `put` returns after the bytes and their name are on
/// the disk. All methods block; call them from a blocking thread.
#[derive(Debug, Clone)]
pub struct Artifacts {
    folder: PathBuf,
}

impl Artifacts {
    /// Opens a folder of artifacts, making it if it is not there.
    ///
    /// # Errors
    /// [`ArtifactError::DiskFull`] or [`ArtifactError::Io`].
    pub fn open(folder: impl Into<PathBuf>) -> Result<Self, ArtifactError> {
        let artifacts = Self { folder: folder.into() };
        make_folder(&artifacts.folder.join(TEMPORARY_FOLDER)).map_err(|source| artifacts.refused(source))?;
        Ok(artifacts)
    }

    /// Keeps `bytes` and returns their name; the same bytes again are the same artifact.
    ///
    /// An artifact found damaged on this way is replaced by the good bytes.
    ///
    /// # Errors
    /// [`ArtifactError::TooLarge`], [`ArtifactError::DiskFull`] or [`ArtifactError::Io`]; nothing is kept then.
    pub fn put(&self, bytes: &[u8]) -> Result<ContentHash, ArtifactError> {
        let size = bytes.len() as u64;
        if size > FILE_BYTES_MAX {
            return Err(ArtifactError::TooLarge { size });
        }
        let hash = ContentHash::of(bytes);
        self.put_named(hash, bytes).map_err(|source| self.refused(source))?;
        Ok(hash)
    }

    /// Reads an artifact and checks that it is what its name says.
    ///
    /// # Errors
    /// [`ArtifactError::Missing`], [`ArtifactError::Corrupt`] or [`ArtifactError::Io`].
    pub fn get(&self, hash: ContentHash) -> Result<Vec<u8>, ArtifactError> {
        let bytes = match read_bounded(&self.path_of(hash)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ArtifactError::Missing { hash }),
            Err(error) => return Err(self.refused(error)),
        };
        let found = ContentHash::of(&bytes);
        if found == hash {
            Ok(bytes)
        } else {
            Err(ArtifactError::Corrupt { hash, found })
        }
    }

    /// Where an artifact lies, whether or not it is there.
    #[must_use]
    pub fn path_of(&self, hash: ContentHash) -> PathBuf {
        let name = hash.to_string();
        // Two levels of 256 folders keep a folder of a million artifacts at about 16 entries.
        self.folder.join(&name[..2]).join(&name[2..4]).join(name)
    }

    /// Removes half-written files last touched before `before`, left by processes that died; returns how many.
    ///
    /// # Errors
    /// [`ArtifactError::Io`].
    pub fn prune_temporary(&self, before: SystemTime) -> Result<usize, ArtifactError> {
        self.prune(before).map_err(|source| self.refused(source))
    }

    fn prune(&self, before: SystemTime) -> io::Result<usize> {
        let mut removed = 0;
        for entry in fs::read_dir(self.folder.join(TEMPORARY_FOLDER))? {
            let entry = entry?;
            // A file that is gone by now was renamed or removed by its owner.
            let old = entry
                .metadata()
                .and_then(|metadata| metadata.modified())
                .is_ok_and(|touched| touched < before);
            if old && fs::remove_file(entry.path()).is_ok() {
                removed += 1;
            }
        }
        Ok(removed)
    }

    fn put_named(&self, hash: ContentHash, bytes: &[u8]) -> io::Result<()> {
        let target = self.path_of(hash);
        let parent = target.parent().unwrap_or(&self.folder);
        if !read_bounded(&target).is_ok_and(|kept| kept == bytes) {
            let mut temporary = self.temporary()?;
            write_durably(&mut temporary.file, bytes)?;
            fs::create_dir_all(parent)?;
            fs::rename(&temporary.path, &target)?;
            temporary.renamed = true;
        }
        // Also what is already there: the process that made the file or a folder may not have come to its sync yet.
        // A folder without changes costs next to nothing.
        parent
            .ancestors()
            .take_while(|folder| folder.starts_with(&self.folder))
            .try_for_each(sync_folder)
    }

    fn temporary(&self) -> io::Result<Temporary> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let folder = self.folder.join(TEMPORARY_FOLDER);
        for _ in 0..NAME_TRIES {
            let name = format!("{}-{}", process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(Temporary {
                        file,
                        path,
                        renamed: false,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(format!(
            "no free temporary name in {}",
            folder.display()
        )))
    }

    fn refused(&self, source: io::Error) -> ArtifactError {
        let folder = self.folder.clone();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ArtifactError::DiskFull { folder },
            _ => ArtifactError::Io { folder, source },
        }
    }
}

/// A file under a name that nobody reads; removed unless it got its real one.
struct Temporary {
    file: File,
    path: PathBuf,
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Best effort: what stays is removed by `prune_temporary`.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn write_durably(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

/// Makes a folder and those above it that are missing, so that all of them survive a crash.
fn make_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|above| !above.is_dir()).collect();
    fs::create_dir_all(folder)?;
    // Each new name is an entry of the folder above it.
    for above in missing.iter().filter_map(|made| made.parent()) {
        sync_folder(if above.as_os_str().is_empty() {
            Path::new(".")
        } else {
            above
        })?;
    }
    Ok(())
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Reads no more than one byte over the bound: enough for the hash to tell that the file is not an artifact.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn open() -> (tempfile::TempDir, Artifacts) {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(folder.path().join("artifacts")).unwrap();
        (folder, artifacts)
    }

    fn temporary_files(artifacts: &Artifacts) -> usize {
        fs::read_dir(artifacts.folder.join(TEMPORARY_FOLDER)).unwrap().count()
    }

    #[test]
    fn s34_bytes_come_back_by_their_hash_and_twice_the_same_is_one_artifact() {
        let (_folder, artifacts) = open();
        let hash = artifacts.put(b"abc").unwrap();
        assert_eq!(hash, ContentHash::of(b"abc"));
        assert_eq!(artifacts.put(b"abc").unwrap(), hash);
        assert_eq!(artifacts.get(hash).unwrap(), b"abc");
        let name = hash.to_string();
        assert_eq!(
            artifacts.path_of(hash),
            artifacts.folder.join("ba").join("78").join(&name)
        );
        assert_eq!(
            fs::read_dir(artifacts.path_of(hash).parent().unwrap()).unwrap().count(),
            1
        );
        assert_eq!(temporary_files(&artifacts), 0);
    }

    #[test]
    fn missing_and_damaged_artifacts_are_told_apart_and_a_new_put_heals() {
        let (_folder, artifacts) = open();
        let hash = ContentHash::of(b"abc");
        assert!(matches!(artifacts.get(hash), Err(ArtifactError::Missing { hash: named }) if named == hash));
        artifacts.put(b"abc").unwrap();
        fs::write(artifacts.path_of(hash), b"abd").unwrap();
        let found = ContentHash::of(b"abd");
        assert!(matches!(artifacts.get(hash), Err(ArtifactError::Corrupt { found: bad, .. }) if bad == found));
        artifacts.put(b"abc").unwrap();
        assert_eq!(artifacts.get(hash).unwrap(), b"abc");
    }

    #[test]
    fn an_artifact_of_32_mib_is_kept_and_one_byte_more_refused() {
        let (_folder, artifacts) = open();
        let mut bytes = vec![7; usize::try_from(FILE_BYTES_MAX).unwrap()];
        let hash = artifacts.put(&bytes).unwrap();
        assert_eq!(artifacts.get(hash).unwrap().len(), bytes.len());
        bytes.push(7);
        assert!(matches!(artifacts.put(&bytes), Err(ArtifactError::TooLarge { size }) if size == FILE_BYTES_MAX + 1));
    }

    #[test]
    fn many_writers_of_the_same_and_other_bytes_do_not_disturb_each_other() {
        let (_folder, artifacts) = open();
        std::thread::scope(|scope| {
            for writer in 0..8_u8 {
                let artifacts = Artifacts::open(&artifacts.folder).unwrap();
                scope.spawn(move || {
                    for round in 0..10_u8 {
                        let shared = artifacts.put(&[round; 5_000]).unwrap();
                        assert_eq!(artifacts.get(shared).unwrap(), [round; 5_000]);
                        artifacts.put(&[writer, round]).unwrap();
                    }
                });
            }
        });
        for writer in 0..8_u8 {
            assert_eq!(artifacts.get(ContentHash::of(&[writer, 9])).unwrap(), [writer, 9]);
        }
        assert_eq!(temporary_files(&artifacts), 0);
    }

    #[test]
    fn temporary_names_left_by_a_dead_process_of_the_same_id_are_passed_over() {
        let (_folder, artifacts) = open();
        for number in 0..100 {
            let debris = artifacts
                .folder
                .join(TEMPORARY_FOLDER)
                .join(format!("{}-{number}", process::id()));
            fs::write(debris, b"half").unwrap();
        }
        let hash = artifacts.put(b"abc").unwrap();
        assert_eq!(artifacts.get(hash).unwrap(), b"abc");
        assert_eq!(temporary_files(&artifacts), 100);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_named_as_such() {
        let (_folder, artifacts) = open();
        let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = artifacts.refused(write_durably(&mut full, b"x").unwrap_err());
        assert!(matches!(&error, ArtifactError::DiskFull { folder } if *folder == artifacts.folder));
        assert_eq!(
            error.to_string(),
            format!("no space left on the disk that holds {}", artifacts.folder.display())
        );
    }

    #[test]
    fn a_failed_put_leaves_nothing_behind() {
        let (_folder, artifacts) = open();
        let hash = ContentHash::of(b"abc");
        let first_level = artifacts.folder.join(&hash.to_string()[..2]);
        fs::write(&first_level, b"a file where a folder is needed").unwrap();
        assert!(matches!(artifacts.put(b"abc"), Err(ArtifactError::Io { .. })));
        assert_eq!(temporary_files(&artifacts), 0);
    }

    #[test]
    fn debris_of_dead_processes_is_pruned_by_age() {
        let (_folder, artifacts) = open();
        let debris = artifacts.folder.join(TEMPORARY_FOLDER).join("1-1");
        fs::write(&debris, b"half").unwrap();
        let touched = fs::metadata(&debris).unwrap().modified().unwrap();
        assert_eq!(artifacts.prune_temporary(touched).unwrap(), 0);
        assert_eq!(artifacts.prune_temporary(touched + Duration::from_secs(1)).unwrap(), 1);
        assert!(!debris.exists());
    }
}
