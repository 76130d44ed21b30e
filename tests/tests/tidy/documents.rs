//! The documents under `ops/docs`: decision records, architecture, changelog, and the links between them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::rust::sources;
use crate::tree::{File, Finding, Tree, assert_clean, shown};

const RECORDS: &str = "ops/docs/adr/";
const ARCHITECTURE: &str = "ops/docs/ARCHITECTURE.md";
/// The integration tests.
const SUITES: &str = "tests/tests/";
const CHANGELOG: &str = "ops/docs/CHANGELOG.md";
/// The parts of a decision record.
const PARTS: &[&str] = &["## Context", "## Decision", "## Consequences"];
/// The kinds of change that a changelog knows.
const CHANGES: &[&str] = &["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)").expect("the pattern is well formed"));
static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`([^`]+)`").expect("the pattern is well formed"));

fn faulty_records(tree: &Tree) -> Vec<Finding> {
    let records: Vec<&File> = tree.files().filter(|file| file.path.starts_with(RECORDS)).collect();
    let architecture = tree.file(ARCHITECTURE).map_or("", |file| &file.text);
    let mut findings = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let number = format!("{:04}", index + 1);
        let name = record.path.trim_start_matches(RECORDS);
        if !name.starts_with(&format!("{number}-")) || !record.has_extension(&["md"]) {
            findings.push(Finding::in_file(
                &record.path,
                format!("should have the number {number}: {number}-title.md"),
            ));
        }
        if !architecture.contains(&format!("(adr/{name})")) {
            findings.push(Finding::in_file(
                &record.path,
                format!("is not listed in {ARCHITECTURE}"),
            ));
        }
        let missing = PARTS
            .iter()
            .filter(|part| !record.text.lines().any(|line| line == **part));
        findings.extend(missing.map(|part| Finding::in_file(&record.path, format!("lacks the part `{part}`"))));
    }
    findings
}

/// Tests that the table of invariants names but no file holds.
fn unknown_tests(tree: &Tree) -> Vec<Finding> {
    let sources = sources(tree);
    let mut tests = BTreeSet::new();
    for source in &sources {
        // A suite that runs on many engines has its cases in plain functions.
        let is_suite = source.path.starts_with(SUITES);
        let of_file = source.functions.iter().filter(|function| is_suite || function.is_test);
        tests.extend(of_file.map(|function| function.name.as_str()));
    }
    let Some(architecture) = tree.file(ARCHITECTURE) else {
        return vec![Finding::in_file(ARCHITECTURE, "is missing")];
    };
    let section = architecture
        .lines()
        .skip_while(|(_, line)| *line != "## Invariants")
        .skip(1);
    let section = section.take_while(|(_, line)| !line.starts_with("## "));
    let mut findings = Vec::new();
    let mut rows = 0;
    for (line, row) in section.filter(|(_, line)| line.starts_with('|')) {
        rows += 1;
        let proof = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        for name in CODE.captures_iter(proof).map(|found| found[1].to_owned()) {
            let name = name.rsplit("::").next().unwrap_or_default();
            if !tests.contains(name) {
                findings.push(Finding::at(ARCHITECTURE, line, format!("there is no test `{name}`")));
            }
        }
    }
    if rows == 0 {
        findings.push(Finding::in_file(ARCHITECTURE, "has no table under `## Invariants`"));
    }
    findings
}

fn faulty_changelog(tree: &Tree) -> Vec<Finding> {
    let Some(changelog) = tree.file(CHANGELOG) else {
        return vec![Finding::in_file(CHANGELOG, "is missing")];
    };
    let mut findings = Vec::new();
    let mut versions = changelog.lines().filter(|(_, line)| line.starts_with("## "));
    if !versions
        .next()
        .is_some_and(|(_, line)| line.starts_with("## [Unreleased]"))
    {
        findings.push(Finding::in_file(
            CHANGELOG,
            "should begin with the section `## [Unreleased]`",
        ));
    }
    for (line, text) in changelog.lines() {
        if let Some(kind) = text.strip_prefix("### ")
            && !CHANGES.contains(&kind)
        {
            findings.push(Finding::at(
                CHANGELOG,
                line,
                format!("`{kind}` is none of {}", CHANGES.join(", ")),
            ));
        }
    }
    findings
}

/// Links to files that are not there.
fn dead_links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.has_extension(&["md"])) {
        for (line, text) in file.lines() {
            for target in LINK.captures_iter(text).map(|found| found[1].to_owned()) {
                let path = target.split('#').next().unwrap_or_default();
                if path.is_empty() || path.contains(':') {
                    continue;
                }
                let place = resolved(&file.path, path);
                let is_there = tree
                    .files()
                    .any(|other| other.path == place || other.path.starts_with(&format!("{place}/")));
                if !is_there {
                    findings.push(Finding::at(
                        &file.path,
                        line,
                        format!("links to {target}, which is not there"),
                    ));
                }
            }
        }
    }
    findings
}

/// A path relative to the file at `from`, from the root of the repository.
fn resolved(from: &str, path: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[test]
fn decision_records_are_numbered_and_listed() {
    assert_clean(
        "A decision is found by its number.",
        &faulty_records(&Tree::of_this_repository()),
    );
}

#[test]
fn the_tests_that_prove_the_invariants_exist() {
    assert_clean(
        "An invariant names its proof.",
        &unknown_tests(&Tree::of_this_repository()),
    );
}

#[test]
fn the_changelog_has_its_form() {
    assert_clean(
        "What changed stands in the changelog.",
        &faulty_changelog(&Tree::of_this_repository()),
    );
}

#[test]
fn links_between_documents_lead_somewhere() {
    assert_clean("A link leads somewhere.", &dead_links(&Tree::of_this_repository()));
}

#[test]
fn a_record_that_is_misnumbered_unlisted_or_partial_is_named() {
    let whole = "# A\n## Context\n## Decision\n## Consequences\n";
    let tree = Tree::of(&[
        (ARCHITECTURE, "[one](adr/0001-one.md) [three](adr/0003-three.md)\n"),
        ("ops/docs/adr/0001-one.md", "# One\n## Context\n## Decision\n"),
        ("ops/docs/adr/0003-three.md", whole),
        ("ops/docs/adr/0003-unlisted.md", whole),
    ]);
    assert_eq!(
        shown(&faulty_records(&tree)),
        [
            "ops/docs/adr/0001-one.md: lacks the part `## Consequences`",
            "ops/docs/adr/0003-three.md: should have the number 0002: 0002-title.md",
            "ops/docs/adr/0003-unlisted.md: is not listed in ops/docs/ARCHITECTURE.md",
        ]
    );
}

#[test]
fn a_proof_that_is_no_test_is_named() {
    let table = "## Invariants\n\n| n | what | proof |\n|---|---|---|\n| 1 | `x` | `here`, `on_every_engine`, `a::absent` |\n| 2 | y | `helper` |\n## Next\n| `z` |\n";
    let tree = Tree::of(&[
        (ARCHITECTURE, table),
        ("a/src/a.rs", "#[test]\nfn here() {}\nfn helper() {}\n"),
        ("tests/tests/suite/main.rs", "fn on_every_engine() {}\n"),
    ]);
    assert_eq!(
        shown(&unknown_tests(&tree)),
        [
            "ops/docs/ARCHITECTURE.md:5: there is no test `absent`",
            "ops/docs/ARCHITECTURE.md:6: there is no test `helper`"
        ]
    );
    let empty = Tree::of(&[(ARCHITECTURE, "# A\n")]);
    assert_eq!(
        shown(&unknown_tests(&empty)),
        ["ops/docs/ARCHITECTURE.md: has no table under `## Invariants`"]
    );
}

#[test]
fn a_changelog_out_of_form_is_named() {
    let tree = Tree::of(&[(
        CHANGELOG,
        "# Changelog\n## [0.1.0]\n### Added\n### Improved\n## [Unreleased]\n",
    )]);
    assert_eq!(
        shown(&faulty_changelog(&tree)),
        [
            "ops/docs/CHANGELOG.md: should begin with the section `## [Unreleased]`",
            "ops/docs/CHANGELOG.md:4: `Improved` is none of Added, Changed, Deprecated, Removed, Fixed, Security",
        ]
    );
    assert_eq!(
        shown(&faulty_changelog(&Tree::of(&[]))),
        ["ops/docs/CHANGELOG.md: is missing"]
    );
}

#[test]
fn dead_links_are_named() {
    let tree = Tree::of(&[
        (
            "README.md",
            "[a](ops/docs/a.md#part) [web](https://example.org) [here](#there) [b](ops/b.md)\n",
        ),
        (
            "ops/docs/a.md",
            "[up](../../README.md) [folder](../docs) [gone](./gone.md)\n",
        ),
    ]);
    assert_eq!(
        shown(&dead_links(&tree)),
        [
            "README.md:1: links to ops/b.md, which is not there",
            "ops/docs/a.md:1: links to ./gone.md, which is not there"
        ]
    );
}
