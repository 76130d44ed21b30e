//! Where the clock may be read and chance be drawn: decisions are told the time.

use crate::rust::{Source, sources};
use crate::tree::{Finding, Tree, assert_clean, shown};

/// What reads a clock or draws chance.
const READS: &[&str] = &[
    "Instant::now",
    "Local::now",
    "OffsetDateTime::now_utc",
    "SystemTime::now",
    "Utc::now",
    "Uuid::new_v4",
    "Uuid::now_v7",
    "getrandom",
    "rand::random",
    "thread_rng",
];

/// The home of the clock.
const CLOCK: &str = "shared/src/clock.rs";

/// A place at the edge that may measure how long something takes.
struct Edge {
    path: &'static str,
    reads: &'static str,
    /// Why an argument would not do.
    reason: &'static str,
}

const EDGES: &[Edge] = &[];

fn unexpected_reads(sources: &[Source], edges: &[Edge]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.path != CLOCK) {
        for read in READS.iter().filter(|read| {
            !edges
                .iter()
                .any(|edge| edge.path == source.path && edge.reads == **read)
        }) {
            let tokens = source.places_of(read).map(|place| &source.tokens[place]);
            let message = format!("`{read}` outside {CLOCK}: take `now` as an argument");
            let places = tokens.filter(|token| !token.in_test);
            findings.extend(places.map(|token| Finding::at(&source.path, token.line, message.clone())));
        }
    }
    findings
}

/// Edges that no longer read the clock, or that give no reason.
fn stale_edges(sources: &[Source], edges: &[Edge]) -> Vec<Finding> {
    let is_read = |edge: &Edge| {
        let source = sources.iter().find(|source| source.path == edge.path);
        source.is_some_and(|source| source.places_of(edge.reads).next().is_some())
    };
    let stale = edges.iter().filter(|edge| !is_read(edge) || edge.reason.is_empty());
    stale
        .map(|edge| Finding::in_file(edge.path, format!("needs no permission for `{}`", edge.reads)))
        .collect()
}

#[test]
fn only_the_clock_reads_the_clock() {
    let sources = sources(&Tree::of_this_repository());
    assert_clean(
        "Time is an argument of every decision.",
        &unexpected_reads(&sources, EDGES),
    );
    assert_clean(
        "A permission that nobody needs is taken back.",
        &stale_edges(&sources, EDGES),
    );
}

#[test]
fn a_read_outside_the_clock_is_named_unless_an_edge_allows_it() {
    let read = "fn f() { std::time::Instant::now(); }\n#[test]\nfn g() { Instant::now(); }\n";
    let tree = Tree::of(&[
        ("shared/src/clock.rs", read),
        ("worker/src/a.rs", read),
        ("worker/src/b.rs", read),
    ]);
    let edges = [Edge {
        path: "worker/src/b.rs",
        reads: "Instant::now",
        reason: "measures",
    }];
    let findings = shown(&unexpected_reads(&sources(&tree), &edges));
    assert_eq!(
        findings,
        ["worker/src/a.rs:1: `Instant::now` outside shared/src/clock.rs: take `now` as an argument"]
    );
    assert_eq!(stale_edges(&sources(&tree), &edges), []);
}

#[test]
fn an_edge_without_use_is_stale() {
    let edges = [Edge {
        path: "worker/src/a.rs",
        reads: "Utc::now",
        reason: "none",
    }];
    let findings = shown(&stale_edges(
        &sources(&Tree::of(&[("worker/src/a.rs", "fn f() {}")])),
        &edges,
    ));
    assert_eq!(findings, ["worker/src/a.rs: needs no permission for `Utc::now`"]);
}
