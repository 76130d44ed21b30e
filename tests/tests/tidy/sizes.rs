//! How long files and functions may be.

use crate::rust::Source;
use crate::tree::{Finding, Tree, assert_clean, shown};

/// A file holds one noun. Past 600 lines it certainly holds two.
const FILE_LINES_MAX: usize = 600;
/// Nine files in ten are shorter than this, so that a reader sees most of a file at once.
const FILE_LINES_P90: usize = 350;
/// What fits on one screen, from `fn` to the closing brace.
const FUNCTION_LINES_MAX: usize = 70;

fn long_files(tree: &Tree) -> Vec<Finding> {
    let too_long = tree.rust_files().filter_map(|file| {
        let lines = file.text.lines().count();
        let message = format!("has {lines} lines, more than {FILE_LINES_MAX}: split it by noun");
        (lines > FILE_LINES_MAX).then(|| Finding::in_file(&file.path, message))
    });
    too_long.collect()
}

/// The longest tenth of the files, if the shortest of it is already too long.
fn long_tenth(tree: &Tree) -> Vec<Finding> {
    let mut sizes: Vec<_> = tree
        .rust_files()
        .map(|file| (file.text.lines().count(), &file.path))
        .collect();
    sizes.sort_unstable();
    let p90 = (sizes.len() * 9).div_ceil(10).saturating_sub(1);
    let is_too_long = sizes.get(p90).is_some_and(|(lines, _)| *lines > FILE_LINES_P90);
    let tenth = if is_too_long { &sizes[p90..] } else { &[] };
    let message = |lines| format!("has {lines} lines; nine files in ten should have at most {FILE_LINES_P90}");
    tenth
        .iter()
        .map(|(lines, path)| Finding::in_file(path, message(lines)))
        .collect()
}

fn long_functions(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        match Source::read(file) {
            Ok(source) => findings.extend(source.functions.iter().filter_map(|function| {
                let lines = function.last_line - function.first_line + 1;
                let message = format!("`{}` has {lines} lines, more than {FUNCTION_LINES_MAX}", function.name);
                (lines > FUNCTION_LINES_MAX).then(|| Finding::at(&file.path, function.first_line, message))
            })),
            Err(error) => findings.push(Finding::in_file(&file.path, error)),
        }
    }
    findings
}

#[test]
fn no_file_is_too_long() {
    let tree = Tree::of_this_repository();
    assert_clean("A file has one noun.", &[long_files(&tree), long_tenth(&tree)].concat());
}

#[test]
fn no_function_is_too_long() {
    assert_clean(
        "A function fits one screen.",
        &long_functions(&Tree::of_this_repository()),
    );
}

#[test]
fn a_file_past_the_limit_is_named() {
    let limit = "//\n".repeat(FILE_LINES_MAX);
    let over = format!("{limit}//\n");
    let tree = Tree::of(&[("a.rs", &limit), ("b.rs", &over), ("c.md", &over)]);
    assert_eq!(
        shown(&long_files(&tree)),
        ["b.rs: has 601 lines, more than 600: split it by noun"]
    );
}

#[test]
fn the_tenth_file_decides_the_ninetieth_percentile() {
    let (short, long) = ("//\n".repeat(FILE_LINES_P90), "//\n".repeat(FILE_LINES_P90 + 1));
    let names: Vec<String> = (0..10).map(|n| format!("{n}.rs")).collect();
    let of = |long_count: usize| {
        let texts = names
            .iter()
            .enumerate()
            .map(|(n, name)| (name.as_str(), if n < long_count { &*long } else { &*short }));
        Tree::of(&texts.collect::<Vec<_>>())
    };
    assert_eq!(long_tenth(&of(1)), []);
    let findings =
        ["0.rs", "1.rs"].map(|name| format!("{name}: has 351 lines; nine files in ten should have at most 350"));
    assert_eq!(shown(&long_tenth(&of(2))), findings);
}

#[test]
fn a_function_past_the_limit_is_named_with_its_line() {
    let body = |lines| "\n".repeat(lines - 1);
    let text = format!(
        "fn short() {{{}}}\nfn long() {{{}}}\n",
        body(FUNCTION_LINES_MAX),
        body(FUNCTION_LINES_MAX + 1)
    );
    let tree = Tree::of(&[("a.rs", &text), ("b.rs", "fn f() { \" }")]);
    let findings = shown(&long_functions(&tree));
    assert_eq!(findings[0], "a.rs:71: `long` has 71 lines, more than 70");
    assert!(findings[1].starts_with("b.rs: is not Rust"), "{findings:?}");
}
