//! Files and folders that a person names.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use legwork_shared::fault::{Code, Fault};
use legwork_worker::docs::decode::decode;
use legwork_worker::workspace::{SourceError, SourceFile, SourceLimits, Sources};

/// What stands for stdin where a file is wanted.
pub const STDIN: &str = "-";
/// The longest input: a plan of ten thousand jobs has about two MiB.
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The text of a file, or of stdin for `-`.
///
/// # Errors
/// [`Code::Unreadable`] or [`Code::NotUtf8`], with the place.
pub fn read_text(path: &Path) -> Result<String, Fault> {
    let name = name_of(path);
    let unreadable = |error: io::Error| {
        let help = match error.kind() {
            io::ErrorKind::NotFound => "check the path",
            io::ErrorKind::PermissionDenied => "give yourself read access",
            _ => "name a text file, or `-` for stdin",
        };
        Fault::new(Code::Unreadable, format!("the file cannot be read: {error}"), help).at(name.clone())
    };
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == STDIN {
        io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|file| file.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    read.map_err(unreadable)?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        let message = format!("the file has more than {INPUT_BYTES_MAX} bytes");
        return Err(Fault::new(Code::Unreadable, message, "give long material as --sources").at(name));
    }
    read_bytes_text(bytes, &name)
}

/// Bytes as text without a byte order mark. `name` is named in faults.
///
/// # Errors
/// [`Code::NotUtf8`] with the line and the column of the first byte that is not text.
fn read_bytes_text(bytes: Vec<u8>, name: &str) -> Result<String, Fault> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..at];
        let line = before.split(|byte| *byte == b'\n').count();
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let message = format!("the byte 0x{:02x} is not UTF-8 text", error.as_bytes()[at]);
        Fault::new(Code::NotUtf8, message, "save the file as UTF-8").at(format!("{name}:{line}:{column}"))
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// What a file is called in faults.
fn name_of(path: &Path) -> String {
    if path.as_os_str() == STDIN {
        "stdin".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Source folders as absolute paths; relative ones begin at `base`. Each must be there, and hold something to read.
///
/// # Errors
/// [`Code::Sources`] or [`Code::NotUtf8`], with the folder as it was given.
pub fn absolute_sources(given: &[PathBuf], base: &Path) -> Result<Vec<String>, Fault> {
    let mut absolute = Vec::with_capacity(given.len());
    for folder in given {
        let fault =
            |message: String, help: &str| Fault::new(Code::Sources, message, help).at(folder.display().to_string());
        let path = fs::canonicalize(base.join(folder)).map_err(|error| {
            fault(
                format!("the source folder cannot be read: {error}"),
                "check the path after --sources",
            )
        })?;
        let sources =
            Sources::open(std::slice::from_ref(&path), SourceLimits::default()).map_err(|error| match error {
                SourceError::Folder { source, .. } => fault(
                    format!("the source folder cannot be read: {source}"),
                    "name a folder that you may read",
                ),
                other => fault(other.to_string(), "name a folder that you may read"),
            })?;
        let is_text = |file: &SourceFile| sources.read(&file.path).is_ok_and(|bytes| decode(&bytes).is_some());
        // The first file is text nearly always, so this reads one.
        if !sources.files().iter().any(is_text) {
            let message = "the source folder has no file with text that can be read";
            return Err(fault(
                message.to_owned(),
                "put documents into it, or name another folder",
            ));
        }
        let text = path.to_str().ok_or_else(|| {
            let message = "the path of the source folder is not UTF-8 text";
            Fault::new(Code::NotUtf8, message, "rename the folder").at(folder.display().to_string())
        })?;
        absolute.push(text.to_owned());
    }
    Ok(absolute)
}

/// Writes a file as a whole or not at all: under another name first, which then takes the place of `path`.
///
/// # Errors
/// [`Code::Unreadable`] with the path.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let write = || -> io::Result<()> {
        let temporary = beside(path)?;
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        let renamed = written.and_then(|()| fs::rename(&temporary, path));
        if renamed.is_err() {
            // What is half written helps nobody; the error that is told is the first one.
            let _ = fs::remove_file(&temporary);
        }
        renamed
    };
    write().map_err(|error| unwritable(path, &error))
}

/// Whether [`write_whole`] can be expected to succeed, asked before hours of work.
///
/// # Errors
/// [`Code::Unreadable`] with the path.
pub fn check_writable(path: &Path) -> Result<(), Fault> {
    let try_out = || -> io::Result<()> {
        let temporary = beside(path)?;
        File::create(&temporary)?;
        fs::remove_file(&temporary)
    };
    try_out().map_err(|error| unwritable(path, &error))
}

/// A hidden name in the same folder; no other process uses it.
fn beside(path: &Path) -> io::Result<PathBuf> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    let hidden = format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id());
    Ok(path.with_file_name(hidden))
}

fn unwritable(path: &Path, error: &io::Error) -> Fault {
    let message = format!("the file cannot be written: {error}");
    Fault::new(Code::Unreadable, message, "name a file in a folder that you may write").at(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_named_with_their_place() {
        let fault = read_bytes_text(b"title: a\njobs: \xff\n".to_vec(), "plan.yaml").expect_err("a fault");
        assert_eq!(
            fault.to_string(),
            "LW0102: plan.yaml:2:7: the byte 0xff is not UTF-8 text; save the file as UTF-8"
        );
        assert_eq!(read_bytes_text(b"\xef\xbb\xbfa".to_vec(), "x"), Ok("a".into()));
    }

    #[test]
    fn sources_must_be_there_and_hold_something() {
        let base = tempfile::tempdir().expect("a folder");
        fs::create_dir(base.path().join("empty")).expect("a folder");
        fs::create_dir(base.path().join("full")).expect("a folder");
        fs::write(base.path().join("full/a.md"), "text").expect("a file");
        fs::create_dir(base.path().join("binary")).expect("a folder");
        fs::write(base.path().join("binary/a.bin"), [0_u8, 1, 2, 3, 0]).expect("a file");
        let fault = |name: &str| {
            let fault = absolute_sources(&[name.into()], base.path()).expect_err("a fault");
            (fault.code, fault.place)
        };
        assert_eq!(fault("missing"), (Code::Sources, Some("missing".into())));
        assert_eq!(fault("empty"), (Code::Sources, Some("empty".into())));
        assert_eq!(fault("binary"), (Code::Sources, Some("binary".into())));
        let expected = fs::canonicalize(base.path().join("full")).expect("a path");
        assert_eq!(
            absolute_sources(&["full".into()], base.path()),
            Ok(vec![expected.display().to_string()])
        );
    }

    #[test]
    fn a_file_is_written_whole_and_leaves_nothing_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.md");
        write_whole(&path, b"one").expect("written");
        write_whole(&path, b"two").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"two");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        for wrong in [folder.path().to_path_buf(), folder.path().join("missing/report.md")] {
            let faults = [write_whole(&wrong, b"x"), check_writable(&wrong)];
            assert_eq!(
                faults.map(|fault| fault.map_err(|fault| fault.code)),
                [Err(Code::Unreadable), Err(Code::Unreadable)]
            );
        }
        assert_eq!(
            (check_writable(&path), fs::read(&path).expect("a file")),
            (Ok(()), b"two".to_vec())
        );
    }
}
