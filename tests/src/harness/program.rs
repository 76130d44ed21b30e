//! Where the program is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root of the repository.
///
/// # Panics
/// If the tests crate does not lie in the repository.
#[must_use]
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies in the repository")
}

/// The program under test: `LEGWORK_BIN`, as `cargo e2e` sets it, or else built now, once.
///
/// # Panics
/// When it is not there and cannot be built.
#[must_use]
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = std::env::var_os("LEGWORK_BIN").map_or_else(build, PathBuf::from);
        assert!(path.is_file(), "{} is not there", path.display());
        path
    })
}

/// Builds it into the target folder of the tests' own binary.
fn build() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("a test's binary lies in TARGET/PROFILE/deps");
    let target = profile.parent().expect("a profile lies in TARGET");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--package", "legwork", "--bin", "legwork", "--target-dir"])
        .arg(target)
        .current_dir(repository())
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the program can be built");
    target.join("debug/legwork")
}
