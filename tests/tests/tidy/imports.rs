//! Who may import whom: shared nobody, worker only shared, and of the orchestrator only its entry and its commands the worker.

use crate::rust::{Source, sources};
use crate::tree::{Finding, Tree, assert_clean, shown};

const PACKAGES: &[&str] = &["legwork", "legwork-shared", "legwork-worker", "legwork-tests"];

/// One folder and what may not be named in it.
struct Rule {
    folder: &'static str,
    /// Places inside the folder to which the rule does not apply.
    except: &'static [&'static str],
    forbidden: &'static [&'static str],
}

const RULES: &[Rule] = &[
    Rule {
        folder: "shared/",
        except: &[],
        forbidden: &["legwork", "legwork_orchestrator", "legwork_worker", "legwork_tests"],
    },
    Rule {
        folder: "worker/",
        except: &[],
        forbidden: &["legwork", "legwork_orchestrator", "legwork_tests"],
    },
    Rule {
        folder: "orchestrator/",
        except: &["orchestrator/src/main.rs", "orchestrator/src/cli/"],
        forbidden: &["legwork_worker"],
    },
    Rule {
        folder: "orchestrator/",
        except: &[],
        forbidden: &["legwork_tests"],
    },
    // The core decides; it neither waits, nor stores, nor logs, nor looks at the machine it runs on.
    Rule {
        folder: "shared/src/",
        except: &["shared/src/store/", "shared/src/clock.rs", "shared/src/lib.rs"],
        forbidden: &[
            "SystemClock",
            "async_trait",
            "rusqlite",
            "std::env",
            "std::fs",
            "std::net",
            "std::process",
            "std::thread",
            "tokio",
            "tracing",
        ],
    },
];

/// Which packages of the workspace a package may depend on.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("shared/Cargo.toml", &[]),
    ("worker/Cargo.toml", &["legwork-shared"]),
    ("orchestrator/Cargo.toml", &["legwork-shared", "legwork-worker"]),
];

fn forbidden_names(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        let applies = |source: &&Source| {
            source.path.starts_with(rule.folder) && !rule.except.iter().any(|except| source.path.starts_with(except))
        };
        for source in sources.iter().filter(applies) {
            for name in rule.forbidden {
                let message = format!("`{name}` may not be named in {}", rule.folder);
                let tokens = source
                    .places_of(name)
                    .filter(|place| is_path(source, *place))
                    .map(|place| &source.tokens[place]);
                let tokens = tokens.filter(|token| !token.in_test);
                findings.extend(tokens.map(|token| Finding::at(&source.path, token.line, message.clone())));
            }
        }
    }
    findings
}

/// Whether a name is part of a path or an import: a field called `tracing` is not.
fn is_path(source: &Source, place: usize) -> bool {
    let is_colon = |index: Option<usize>| {
        index
            .and_then(|index| source.tokens.get(index))
            .is_some_and(|it| it.is_punct(':'))
    };
    let follows_use = place > 0 && source.tokens[place - 1].is_ident("use");
    let before = place.checked_sub(1);
    follows_use
        || (is_colon(before) && is_colon(place.checked_sub(2)))
        || (is_colon(Some(place + 1)) && is_colon(Some(place + 2)))
}

fn forbidden_dependencies(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, allowed) in DEPENDENCIES {
        let Some(manifest) = tree.file(path) else { continue };
        for (line, text) in manifest.lines() {
            let name = text.split(['=', '.']).next().unwrap_or_default().trim();
            if PACKAGES.contains(&name) && !allowed.contains(&name) {
                findings.push(Finding::at(path, line, format!("may not depend on {name}")));
            }
        }
    }
    findings
}

#[test]
fn packages_import_only_whom_they_may() {
    let tree = Tree::of_this_repository();
    let findings = [forbidden_names(&sources(&tree)), forbidden_dependencies(&tree)].concat();
    assert_clean("Shared imports nobody, worker only shared.", &findings);
}

#[test]
fn an_import_against_the_rules_is_named() {
    let using = "use legwork_worker::run;\nfn f() { legwork_worker::run(); }\n";
    let tree = Tree::of(&[
        (
            "shared/src/job/mod.rs",
            "use legwork_worker;\nuse std::{fmt, fs};\nfn f(tracing: u8) { tokio::spawn(); }\n",
        ),
        ("shared/src/store/mod.rs", "use tokio::sync::Mutex;\n"),
        ("worker/src/lib.rs", "use legwork_shared::id;\nuse legwork::cli;\n"),
        ("orchestrator/src/main.rs", using),
        ("orchestrator/src/cli/mod.rs", using),
        ("orchestrator/src/api.rs", using),
    ]);
    let findings = shown(&forbidden_names(&sources(&tree)));
    assert_eq!(
        findings,
        [
            "shared/src/job/mod.rs:1: `legwork_worker` may not be named in shared/",
            "worker/src/lib.rs:2: `legwork` may not be named in worker/",
            "orchestrator/src/api.rs:1: `legwork_worker` may not be named in orchestrator/",
            "orchestrator/src/api.rs:2: `legwork_worker` may not be named in orchestrator/",
            "shared/src/job/mod.rs:3: `tokio` may not be named in shared/src/",
        ]
    );
}

#[test]
fn a_dependency_against_the_rules_is_named() {
    let tree = Tree::of(&[
        (
            "shared/Cargo.toml",
            "[package]\nname = \"legwork-shared\"\n[dependencies]\nlegwork-worker.workspace = true\n",
        ),
        (
            "worker/Cargo.toml",
            "[dependencies]\nlegwork-shared = { workspace = true }\nlegwork = { path = \"..\" }\n",
        ),
    ]);
    let findings = shown(&forbidden_dependencies(&tree));
    assert_eq!(
        findings,
        [
            "shared/Cargo.toml:4: may not depend on legwork-worker",
            "worker/Cargo.toml:3: may not depend on legwork"
        ]
    );
}
