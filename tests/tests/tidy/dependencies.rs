//! Each dependency stands once, in the workspace, with the reason why it is not our own code.

use std::collections::BTreeSet;

use toml::Table;

use crate::tree::{Finding, Tree, assert_clean, shown};

const WORKSPACE: &str = "Cargo.toml";
const SECTION: &str = "[workspace.dependencies]";

/// Dependencies without a reason behind them or in the comment above.
fn without_reason(tree: &Tree) -> Vec<Finding> {
    let Some(manifest) = tree.file(WORKSPACE) else {
        return vec![Finding::in_file(WORKSPACE, "is missing")];
    };
    let mut findings = Vec::new();
    let mut section = "";
    let mut above = "";
    for (line, text) in manifest.lines() {
        let text = text.trim();
        if text.starts_with('[') {
            section = text;
        }
        let is_dependency =
            section == SECTION && text.contains('=') && !text.starts_with('#') && !text.contains("path =");
        // A comment like `# -- tests --` is a heading of a group, not a reason.
        let reason_above = above.starts_with("# ") && !above.starts_with("# --");
        if is_dependency && !text.contains("# ") && !reason_above {
            let name = text.split('=').next().unwrap_or_default().trim();
            findings.push(Finding::at(WORKSPACE, line, format!("{name} comes without a reason")));
        }
        above = text;
    }
    findings
}

/// The tables of dependencies of a package.
fn tables(manifest: &Table) -> impl Iterator<Item = &Table> {
    let names = ["dependencies", "dev-dependencies", "build-dependencies"];
    names.into_iter().filter_map(|name| manifest.get(name)?.as_table())
}

/// Dependencies that a package takes past the workspace, and those of the workspace that no package takes.
fn apart_from_workspace(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut taken = BTreeSet::new();
    let mut offered = BTreeSet::new();
    for file in tree.files().filter(|file| file.path.ends_with("Cargo.toml")) {
        let manifest: Table = match file.text.parse() {
            Ok(manifest) => manifest,
            Err(error) => {
                findings.push(Finding::in_file(&file.path, format!("is not TOML: {error}")));
                continue;
            }
        };
        // A peer of the benchmarks is a workspace of its own.
        if manifest.contains_key("workspace") && file.path != WORKSPACE {
            continue;
        }
        let workspace = manifest
            .get("workspace")
            .and_then(|workspace| workspace.get("dependencies")?.as_table());
        offered.extend(workspace.into_iter().flat_map(Table::keys).cloned());
        for (name, value) in tables(&manifest).flatten() {
            taken.insert(name.clone());
            if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                findings.push(Finding::in_file(
                    &file.path,
                    format!("{name} should come from the workspace"),
                ));
            }
        }
    }
    let unused = offered
        .difference(&taken)
        .map(|name| Finding::in_file(WORKSPACE, format!("no package takes {name}")));
    findings.extend(unused);
    findings
}

#[test]
fn every_dependency_stands_once_with_its_reason() {
    let tree = Tree::of_this_repository();
    let findings = [without_reason(&tree), apart_from_workspace(&tree)].concat();
    assert_clean(
        "A dependency stands in the workspace and says why it is not our own code.",
        &findings,
    );
}

#[test]
fn a_dependency_without_reason_is_named() {
    let text = "[workspace]\nresolver = \"3\"\n[workspace.dependencies]\n# -- data --\na = \"1\"\nb = { version = \"1\" } # why\n\
                # why\nc = \"1\"\nd = \"1\"\nown = { path = \"own\" }\n[profile.dev]\ndebug = 1\n";
    let findings = shown(&without_reason(&Tree::of(&[("Cargo.toml", text)])));
    assert_eq!(
        findings,
        [
            "Cargo.toml:5: a comes without a reason",
            "Cargo.toml:9: d comes without a reason"
        ]
    );
    assert_eq!(shown(&without_reason(&Tree::of(&[]))), ["Cargo.toml: is missing"]);
}

#[test]
fn a_dependency_past_the_workspace_and_one_without_use_are_named() {
    let tree = Tree::of(&[
        ("Cargo.toml", "[workspace.dependencies]\na = \"1\"\nb = \"1\"\n"),
        (
            "x/Cargo.toml",
            "[dependencies]\na = { workspace = true }\n[dev-dependencies]\nc = \"1\"\n",
        ),
        ("y/Cargo.toml", "[dependencies\n"),
    ]);
    let findings = shown(&apart_from_workspace(&tree));
    assert_eq!(findings[0], "x/Cargo.toml: c should come from the workspace");
    assert!(findings[1].starts_with("y/Cargo.toml: is not TOML"), "{findings:?}");
    assert_eq!(findings[2..], ["Cargo.toml: no package takes b"]);
}
