//! Opening a file below a folder, whatever its path and the file system say.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

/// The kernel asks to try again when a folder moves while it looks; after this many tries the slow way is taken.
#[cfg(target_os = "linux")]
const TRIES: u32 = 8;
/// `NONBLOCK`: opening a pipe that took the place of a file must not wait for a writer.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Opens the regular file at `relative` below `folder` for reading, following no symbolic link on the way.
///
/// # Errors
/// `InvalidInput` if the path has another part than names or the thing there is no regular file; else what the
/// system said, which for a symbolic link is `ELOOP` or `ENOTDIR`.
pub fn open_beneath(folder: BorrowedFd<'_>, relative: &Path) -> io::Result<File> {
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path leaves its folder",
        ));
    }
    let file = File::from(open(folder, relative)?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

#[cfg(target_os = "linux")]
fn open(folder: BorrowedFd<'_>, relative: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    for _ in 0..TRIES {
        match openat2(folder, relative, READ, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Kernels before 5.6 do not know the call, and filters of older containers forbid it.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => break,
            opened => return Ok(opened?),
        }
    }
    Ok(open_part_by_part(folder, relative)?)
}

#[cfg(not(target_os = "linux"))]
fn open(folder: BorrowedFd<'_>, relative: &Path) -> io::Result<OwnedFd> {
    Ok(open_part_by_part(folder, relative)?)
}

/// The slow way: each folder is opened from the one before, so that none can be swapped for a link in between.
fn open_part_by_part(folder: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
    let mut parts = relative.components().map(Component::as_os_str).peekable();
    let mut current: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_some() {
            READ.union(OFlags::DIRECTORY)
        } else {
            READ
        };
        let from = current.as_ref().map_or(folder, |opened| opened.as_fd());
        current = Some(openat(from, part, flags, Mode::empty())?);
    }
    current.ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    type Way = fn(BorrowedFd<'_>, &Path) -> io::Result<OwnedFd>;
    const WAYS: [Way; 2] = [open, |folder, relative| Ok(open_part_by_part(folder, relative)?)];

    fn tree() -> (tempfile::TempDir, File) {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir_all(inner.join("folder")).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        fs::write(inner.join("folder/file"), "text").unwrap();
        symlink("../../secret", inner.join("folder/out")).unwrap();
        symlink("file", inner.join("folder/in")).unwrap();
        symlink("..", inner.join("up")).unwrap();
        symlink("/proc/self/root", inner.join("magic")).unwrap();
        let folder = File::open(&inner).unwrap();
        (outer, folder)
    }

    #[test]
    fn d56_no_link_is_followed_by_either_way_and_plain_files_are_read_by_both() {
        let (_outer, folder) = tree();
        for way in WAYS {
            let mut text = String::new();
            File::from(way(folder.as_fd(), Path::new("folder/file")).unwrap())
                .read_to_string(&mut text)
                .unwrap();
            assert_eq!(text, "text");
            for link in [
                "folder/out",
                "folder/in",
                "up/secret",
                "up/inner/folder/file",
                "magic/etc/passwd",
            ] {
                let error = way(folder.as_fd(), Path::new(link)).unwrap_err();
                let code = Errno::from_io_error(&error).unwrap();
                assert!([Errno::LOOP, Errno::NOTDIR].contains(&code), "{link}: {error}");
            }
            let missing = way(folder.as_fd(), Path::new("folder/none")).unwrap_err();
            assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        }
    }

    #[test]
    fn d56_paths_that_leave_the_folder_and_things_that_are_no_files_are_refused() {
        let (outer, folder) = tree();
        let pipe = outer.path().join("inner/pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        for path in ["../secret", "/etc/passwd", "folder/../../secret", "folder", "pipe"] {
            let error = open_beneath(folder.as_fd(), Path::new(path)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{path}: {error}");
        }
    }
}
