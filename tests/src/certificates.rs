//! Certificates of a test's own: an authority, and a certificate for this machine that it has signed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// An authority with one certificate, in a folder that goes with it.
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes both.
    ///
    /// # Errors
    /// There is no `openssl`, or it makes none.
    pub fn make() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("legwork-tls-").tempdir()?;
        let name = format!("/CN={}", folder.path().file_name().unwrap_or_default().display());
        let made = Self { folder };
        let key = [
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
        ];
        let authority = [
            &["req", "-x509", "-subj", &name][..],
            &["-keyout", "ca.key", "-out", "ca.pem"],
            &["-addext", "basicConstraints=critical,CA:TRUE"],
            &key,
        ];
        made.openssl(&authority.concat())?;
        let certificate = [
            &[
                "req",
                "-x509",
                "-subj",
                "/CN=localhost",
                "-CA",
                "ca.pem",
                "-CAkey",
                "ca.key",
            ][..],
            &["-keyout", "server.key", "-out", "server.pem"],
            &["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            &["-addext", "basicConstraints=critical,CA:FALSE"],
            &key,
        ];
        made.openssl(&certificate.concat())?;
        Ok(made)
    }

    /// The file of the authority's certificate.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// The files of the certificate and of its key.
    #[must_use]
    pub fn certificate(&self) -> (PathBuf, PathBuf) {
        (self.path("server.pem"), self.path("server.key"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn openssl(&self, arguments: &[&str]) -> Result<()> {
        let folder: &Path = self.folder.path();
        let output = Command::new("openssl")
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .context("`openssl` cannot be started; `ops/test` installs it")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }
}
