//! Which files and folders may stand where.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use crate::tree::{Finding, Tree, assert_clean, root, shown};

/// The folders of the top level; beside them stand only the workspace, the front page, the licences and dotfiles.
const FOLDERS: &[&str] = &["ops", "orchestrator", "shared", "tests", "worker"];
const FILES: &[&str] = &["Cargo.lock", "Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

fn misplaced(tree: &Tree) -> Vec<Finding> {
    let mut strangers = BTreeSet::new();
    for file in tree.files() {
        let (entry, allowed) = match file.path.split_once('/') {
            Some((folder, _)) => (folder, FOLDERS),
            None => (file.path.as_str(), FILES),
        };
        if !entry.starts_with('.') && !allowed.contains(&entry) {
            strangers.insert(entry);
        }
    }
    strangers
        .into_iter()
        .map(|entry| Finding::in_file(entry, "does not belong at the top level"))
        .collect()
}

#[test]
fn the_top_level_holds_only_what_belongs_there() {
    assert_clean(
        "Programs live in their package, everything else under ops/.",
        &misplaced(&Tree::of_this_repository()),
    );
}

#[test]
fn a_stranger_at_the_top_level_is_named_once() {
    let tree = Tree::of(&[
        (".ci/run", ""),
        ("Cargo.toml", ""),
        ("notes.txt", ""),
        ("ops", ""),
        ("scripts/a.sh", ""),
        ("scripts/b.sh", ""),
        ("shared/src/lib.rs", ""),
    ]);
    let message = "does not belong at the top level";
    assert_eq!(
        shown(&misplaced(&tree)),
        ["notes.txt", "ops", "scripts"].map(|entry| format!("{entry}: {message}"))
    );
}

#[test]
fn cargo_run_means_the_program() {
    let metadata = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let members = metadata["workspace_default_members"].as_array().unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let programs: Vec<&str> = packages
        .filter(|package| members.contains(&package["id"]))
        .flat_map(|package| package["targets"].as_array().unwrap())
        .filter(|target| target["kind"].as_array().unwrap().contains(&Value::from("bin")))
        .filter_map(|target| target["name"].as_str())
        .collect();
    assert_eq!(programs, ["legwork"], "of several, `cargo run` takes none");
}
