//! Marks of unfinished work, silenced warnings, and words that belong to one machine.

use std::sync::LazyLock;

use regex::Regex;

use crate::rust::{Source, sources};
use crate::tree::{Finding, Tree, assert_clean, shown};

/// Tokens that stand for work not done or a warning not heeded.
const TOKENS: &[&str] = &[
    "todo!",
    "unimplemented!",
    "dbg!",
    "#[ignore",
    "allow(dead_code",
    "expect(dead_code",
    "allow(clippy::too_many_lines",
    "expect(clippy::too_many_lines",
];

static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let words = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["HA", "CK"]].map(|pieces| pieces.concat());
    Regex::new(&format!(r"\b({})\b", words.join("|"))).expect("the pattern is well formed")
});

/// Folders of one person's machine. The project names only places that exist on every one.
static MACHINE: LazyLock<Regex> = LazyLock::new(|| {
    let places = ["home/[a-z]", "root/", "Users/[A-Za-z]", "tmp/[a-z]/", "work/"];
    Regex::new(&format!(r"(^|[^\w.~/*}}>-])/({})", places.join("|"))).expect("the pattern is well formed")
});

fn unfinished_tokens(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        for mark in TOKENS {
            let places = source.places_of(mark).map(|place| source.tokens[place].line);
            findings.extend(places.map(|line| Finding::at(&source.path, line, format!("unfinished: `{mark}`"))));
        }
    }
    findings
}

fn lines_with(tree: &Tree, pattern: &Regex, what: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        for (line, text) in file.lines() {
            if let Some(found) = pattern.find(text) {
                findings.push(Finding::at(
                    &file.path,
                    line,
                    format!("{what}: {}", found.as_str().trim()),
                ));
            }
        }
    }
    findings
}

#[test]
fn nothing_is_left_unfinished() {
    let tree = Tree::of_this_repository();
    let findings = [
        unfinished_tokens(&sources(&tree)),
        lines_with(&tree, &WORDS, "unfinished"),
    ]
    .concat();
    assert_clean("What stands here is finished.", &findings);
}

#[test]
fn no_file_speaks_of_one_machine() {
    let findings = lines_with(&Tree::of_this_repository(), &MACHINE, "a place on one machine");
    assert_clean("The project speaks only of itself.", &findings);
}

#[test]
fn unfinished_code_is_named() {
    let text = format!(
        "#[{}]\nfn f() {{ {}!(\"x\") }}\n#[{}(dead_code, reason = \"\")]\nfn g() {{ \"todo!\"; {}!(1) }}\n",
        "ignore = \"slow\"", "todo", "allow", "dbg"
    );
    let findings = shown(&unfinished_tokens(&sources(&Tree::of(&[("a.rs", &text)]))));
    let expected = [
        "2: unfinished: `todo!`",
        "4: unfinished: `dbg!`",
        "1: unfinished: `#[ignore`",
        "3: unfinished: `allow(dead_code`",
    ];
    assert_eq!(findings, expected.map(|finding| format!("a.rs:{finding}")));
}

#[test]
fn unfinished_words_are_named_in_any_file() {
    let word = ["FIX", "ME"].concat();
    let tree = Tree::of(&[("a.sql", &format!("-- fine\n-- {word}: later\n-- a{word}b\n"))]);
    assert_eq!(
        shown(&lines_with(&tree, &WORDS, "unfinished")),
        [format!("a.sql:2: unfinished: {word}")]
    );
}

#[test]
fn places_on_one_machine_are_named() {
    let lines = [
        "cd /home",
        "ada",
        "see /",
        "root/x",
        "~/home/ada or src/work/ or /workspace/",
        "`/",
        "work/main`",
    ];
    let text = format!(
        "{}/{}\n{}{}\n{}\n{}{}\n",
        lines[0], lines[1], lines[2], lines[3], lines[4], lines[5], lines[6]
    );
    let findings = shown(&lines_with(&Tree::of(&[("a.md", &text)]), &MACHINE, "machine"));
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(
        findings
            .iter()
            .zip(["a.md:1:", "a.md:2:", "a.md:4:"])
            .all(|(found, place)| found.starts_with(place))
    );
}
