//! Every error code that a person can meet has a page, and every page a code.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::rust::{Kind, sources};
use crate::tree::{Finding, Tree, assert_clean, shown};

/// Where the pages are.
const PAGES: &str = "ops/docs/errors/";

static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bLW\d{4}\b").expect("the pattern is well formed"));

/// The codes in the program's strings, each with the first place that names it.
fn used_codes(tree: &Tree) -> BTreeMap<String, (String, usize)> {
    let mut codes = BTreeMap::new();
    for source in sources(tree) {
        for token in source.tokens.iter().filter(|token| !token.in_test) {
            let (Kind::Literal(text) | Kind::Ident(text)) = &token.kind else {
                continue;
            };
            for code in CODE.find_iter(text) {
                codes
                    .entry(code.as_str().to_owned())
                    .or_insert_with(|| (source.path.clone(), token.line));
            }
        }
    }
    codes
}

fn pages_and_codes_apart(tree: &Tree) -> Vec<Finding> {
    let codes = used_codes(tree);
    let mut findings = Vec::new();
    for (code, (path, line)) in &codes {
        if tree.file(&format!("{PAGES}{code}.md")).is_none() {
            findings.push(Finding::at(path, *line, format!("{code} has no page {PAGES}{code}.md")));
        }
    }
    for file in tree.files() {
        let Some(name) = file.path.strip_prefix(PAGES).filter(|name| *name != "README.md") else {
            continue;
        };
        let code = name.strip_suffix(".md").unwrap_or(name);
        if !codes.contains_key(code) {
            findings.push(Finding::in_file(&file.path, format!("no error has the code {code}")));
        } else if !file.text.starts_with(&format!("# {code}")) {
            findings.push(Finding::at(
                &file.path,
                1,
                format!("should begin with the title `# {code}: …`"),
            ));
        }
    }
    findings
}

#[test]
fn every_error_code_has_its_page() {
    assert_clean(
        "A person who meets an error finds its page.",
        &pages_and_codes_apart(&Tree::of_this_repository()),
    );
}

#[test]
fn codes_without_pages_and_pages_without_codes_are_named() {
    let tree = Tree::of(&[
        (
            "a/src/a.rs",
            "const A: &str = \"LW0001\";\nconst B: &str = \"see LW0002\";\n#[test]\nfn t() { \"LW0009\" }\n",
        ),
        ("a/src/b.rs", "/// LW0008\nconst C: Code = LW0003;\n"),
        ("ops/docs/errors/README.md", "# Errors"),
        ("ops/docs/errors/LW0001.md", "# LW0001: the job is unknown\n"),
        ("ops/docs/errors/LW0003.md", "no title\n"),
        ("ops/docs/errors/LW0004.md", "# LW0004: gone\n"),
    ]);
    assert_eq!(
        shown(&pages_and_codes_apart(&tree)),
        [
            "a/src/a.rs:2: LW0002 has no page ops/docs/errors/LW0002.md",
            "ops/docs/errors/LW0003.md:1: should begin with the title `# LW0003: …`",
            "ops/docs/errors/LW0004.md: no error has the code LW0004",
        ]
    );
}
