//! Tests do not sleep for luck: they move a clock or wait for an event.

use crate::rust::{Source, sources};
use crate::tree::{Finding, Tree, assert_clean, shown};

/// The harness may pause: its servers are slow on purpose, and its waiters look again until something is true.
const HARNESS: &str = "tests/src/";

fn sleeping_tests(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| !source.path.starts_with(HARNESS)) {
        for call in ["sleep(", "sleep_ms("] {
            let tokens = source.places_of(call).map(|place| &source.tokens[place]);
            let message = "a test sleeps: move its clock, or wait for what it is waiting for";
            findings.extend(
                tokens
                    .filter(|token| token.in_test)
                    .map(|token| Finding::at(&source.path, token.line, message)),
            );
        }
    }
    findings
}

#[test]
fn no_test_sleeps_for_luck() {
    let findings = sleeping_tests(&sources(&Tree::of_this_repository()));
    assert_clean("A test waits for events, not for time.", &findings);
}

#[test]
fn a_test_that_sleeps_is_named() {
    let tree = Tree::of(&[
        ("tests/src/server.rs", "async fn slow() { sleep(A).await; }"),
        ("tests/tests/e2e/a.rs", "fn f() {\n std::thread::sleep(A);\n}"),
        (
            "worker/src/a.rs",
            "fn f() { sleep(A); }\n#[test]\nfn t() {\n sleep(A);\n \"sleep(1)\"; }",
        ),
    ]);
    let message = "a test sleeps: move its clock, or wait for what it is waiting for";
    let places = ["tests/tests/e2e/a.rs:2", "worker/src/a.rs:4"];
    assert_eq!(
        shown(&sleeping_tests(&sources(&tree))),
        places.map(|place| format!("{place}: {message}"))
    );
}
