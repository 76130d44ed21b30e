//! SQL and Lua live in files of their own, each under a header that says what it does.

use std::sync::LazyLock;

use regex::Regex;

use crate::rust::{Kind, Source, sources};
use crate::tree::{File, Finding, Tree, assert_clean, shown};

/// What the header of a script of the store says: what for, from what, to what, and what happens together. Scripts elsewhere
/// touch nothing that is kept: there the first label will do.
const LABELS: &[&str] = &["Purpose:", "Inputs:", "Result:", "Atomicity:"];
/// Where the scripts of the store are.
const FOLDERS: &[&str] = &["queries", "migrations", "lua"];

static SQL: LazyLock<Regex> = LazyLock::new(|| {
    let statements = r"(?s)\b(SELECT\s.+\sFROM|INSERT\s(.+\s)?INTO|UPDATE\s.+\sSET|DELETE\s+FROM|REPLACE\s+INTO)\b";
    let definitions = r"\b(CREATE|ALTER|DROP)\s+(VIRTUAL\s+)?(TABLE|INDEX|TRIGGER|VIEW|UNIQUE)\b";
    Regex::new(&format!("{statements}|{definitions}")).expect("the pattern is well formed")
});
static LUA: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"redis\.p?call\(|\b(KEYS|ARGV)\[\d").expect("the pattern is well formed"));

fn in_strings(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        for token in source.tokens.iter().filter(|token| !token.in_test) {
            let Kind::Literal(text) = &token.kind else { continue };
            let language = if SQL.is_match(text) { "SQL" } else { "Lua" };
            if language == "SQL" || LUA.is_match(text) {
                findings.push(Finding::at(
                    &source.path,
                    token.line,
                    format!("{language} in a string: give it a file"),
                ));
            }
        }
    }
    findings
}

/// The comment that a script begins with.
fn header(file: &File) -> String {
    let lines = file.text.lines().map(str::trim);
    lines.take_while(|line| line.starts_with("--")).collect()
}

fn without_header(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let labels = if file.path.split('/').any(|part| FOLDERS.contains(&part)) {
            LABELS
        } else if file.has_extension(&["sql", "lua"]) {
            &LABELS[..1]
        } else {
            continue;
        };
        let header = header(file);
        let missing: Vec<&str> = labels
            .iter()
            .filter(|label| !header.contains(**label))
            .copied()
            .collect();
        if !missing.is_empty() {
            findings.push(Finding::in_file(
                &file.path,
                format!("its header lacks {}", missing.join(" ")),
            ));
        }
    }
    findings
}

#[test]
fn no_sql_or_lua_stands_in_strings() {
    assert_clean(
        "SQL and Lua live in files.",
        &in_strings(&sources(&Tree::of_this_repository())),
    );
}

#[test]
fn every_script_begins_with_its_contract() {
    assert_clean(
        "A script says what it is for.",
        &without_header(&Tree::of_this_repository()),
    );
}

#[test]
fn sql_and_lua_in_strings_are_named() {
    let text = "fn f() {\n sql(\"SELECT a\\n FROM b\");\n format!(r#\"insert {}\"#, \"INSERT OR IGNORE INTO x\");\n \
                let _ = \"UPDATE t SET a = 1\"; let _ = \"CREATE UNIQUE INDEX i\";\n let _ = \"return redis.call('GET', KEYS[1])\";\n \
                let _ = \"Select the lines from the file, then delete from it.\";\n}\n#[test]\nfn t() { \"DELETE FROM t\" }\n";
    let findings = shown(&in_strings(&sources(&Tree::of(&[("a/src/a.rs", text)]))));
    let expected = [(2, "SQL"), (3, "SQL"), (4, "SQL"), (4, "SQL"), (5, "Lua")];
    assert_eq!(
        findings,
        expected.map(|(line, what)| format!("a/src/a.rs:{line}: {what} in a string: give it a file"))
    );
}

#[test]
fn a_script_without_its_header_is_named() {
    let whole = "-- Purpose: a\n-- Inputs: none\n-- Result: rows\n-- Atomicity: one statement\nSELECT 1;\n";
    let tree = Tree::of(&[
        ("shared/queries/good.sql", whole),
        ("shared/lua/empty.lua", "return 1\n"),
        (
            "shared/migrations/0001.sql",
            "-- Purpose: tables. Inputs: none\nSELECT 1; -- Result: x\n",
        ),
        ("worker/src/good.sql", "-- Purpose: x\nSELECT 1;"),
        ("worker/src/bad.sql", "SELECT 1;"),
    ]);
    let findings = shown(&without_header(&tree));
    assert_eq!(
        findings,
        [
            "shared/lua/empty.lua: its header lacks Purpose: Inputs: Result: Atomicity:",
            "shared/migrations/0001.sql: its header lacks Result: Atomicity:",
            "worker/src/bad.sql: its header lacks Purpose:",
        ]
    );
}
