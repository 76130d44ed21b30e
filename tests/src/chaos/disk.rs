//! A disk that can be full.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use tempfile::TempDir;

/// Its size while there is room: more than any log of a run takes. It takes memory only for what is written.
const ROOM: &str = "2g";

/// A file system in memory; it goes when it is dropped.
pub struct Disk {
    folder: TempDir,
}

impl Disk {
    /// Mounts one.
    ///
    /// # Errors
    /// This process may not.
    pub fn mount() -> Result<Self> {
        let disk = Self {
            folder: tempfile::Builder::new().prefix("legwork-disk-").tempdir()?,
        };
        mount(&["-t", "tmpfs", "-o", &format!("size={ROOM}"), "tmpfs"], disk.path())?;
        Ok(disk)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// From now on there is no room for more.
    ///
    /// # Errors
    /// What the system says.
    pub fn fill(&self) -> Result<()> {
        let state = rustix::fs::statvfs(self.path())?;
        let used = (state.f_blocks - state.f_bfree) * state.f_frsize;
        // A page is the least it can have more than what is used.
        mount(&["-o", &format!("remount,size={}", used + state.f_frsize)], self.path())
    }

    /// There is room again.
    ///
    /// # Errors
    /// What the system says.
    pub fn free(&self) -> Result<()> {
        mount(&["-o", &format!("remount,size={ROOM}")], self.path())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let path: PathBuf = self.path().to_owned();
        // Where it was never mounted there is nothing to take away.
        let _ = Command::new("umount")
            .arg("--lazy")
            .arg(path)
            .stderr(Stdio::null())
            .status();
    }
}

fn mount(arguments: &[&str], path: &Path) -> Result<()> {
    let output = Command::new("mount").args(arguments).arg(path).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "mount: {}", said.trim());
    Ok(())
}
