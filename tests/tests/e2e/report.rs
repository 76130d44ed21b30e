//! The report on documents, without a language model.

use std::path::Path;

use legwork_tests::harness::{Legwork, repository};
use legwork_worker::extract::check_citations;

const QUESTION: &str = "Advantages and drawbacks of vector databases";

/// The sections of a report with their text, by heading.
fn section<'a>(report: &'a str, heading: &str) -> &'a str {
    let start = format!("\n## {heading}");
    let at = report
        .find(&start)
        .unwrap_or_else(|| panic!("no section `{heading}` in\n{report}"));
    let body = &report[at + start.len()..];
    &body[..body.find("\n## ").unwrap_or(body.len())]
}

/// The number of quotes that stand word for word where the report says.
fn verified(report: &str, sources: &Path) -> usize {
    let check = check_citations(report, sources).unwrap_or_else(|faults| panic!("{faults:#?}"));
    check.checked
}

#[tokio::test]
async fn s61_a_question_and_a_folder_give_a_report_in_which_every_quote_is_true() {
    let sources = repository().join("ops/examples/vector-databases");
    let legwork = Legwork::new();
    let folder = sources.display().to_string();
    let output = legwork
        .run(&["run", QUESTION, "--sources", &folder, "--out", "report.md"])
        .await;
    assert_eq!(output.success(), "", "the report goes to the file alone");
    let report = legwork.read("report.md");
    assert!(
        report.contains("language model"),
        "it says that none was used:\n{report}"
    );
    for heading in ["Findings", "Gaps", "Sources"] {
        assert!(!section(&report, heading).trim().is_empty(), "{heading}");
    }
    let agreements = section(&report, "Agreements");
    assert!(agreements.contains(".md:"), "{agreements}");
    let disagreements = section(&report, "Disagreements");
    for document in ["hnsw-in-practice.md", "memory-and-cost-planning.md"] {
        assert!(disagreements.contains(document), "{disagreements}");
    }
    let checked = verified(&report, &sources);
    assert!(checked > 20, "only {checked} quotes");
}

#[tokio::test]
async fn s61_a_question_in_chinese_gets_a_report_in_chinese_with_true_quotes() {
    let sources = repository().join("ops/examples/vector-databases");
    let legwork = Legwork::new();
    let folder = sources.display().to_string();
    let output = legwork
        .run(&["run", "向量数据库的优点和缺点是什么?", "--sources", &folder])
        .await;
    let report = output.success();
    assert!(report.starts_with("# 向量数据库的优点和缺点"), "{report}");
    assert!(verified(&report, &sources) > 0, "{report}");
}

/// Documents that nobody wrote for these tests: the words that came with the libraries that this program is built of.
fn foreign_documents(target: &Path) -> usize {
    let Some(home) = std::env::var_os("CARGO_HOME")
        .map(Into::into)
        .or_else(|| Some(std::env::home_dir()?.join(".cargo")))
    else {
        return 0;
    };
    let registries = std::fs::read_dir(home.join("registry/src"))
        .into_iter()
        .flatten()
        .flatten();
    let packages = registries.flat_map(|registry| std::fs::read_dir(registry.path()).into_iter().flatten().flatten());
    let mut readmes: Vec<_> = packages
        .map(|package| package.path().join("README.md"))
        .filter(|path| path.is_file())
        .collect();
    readmes.sort();
    readmes.truncate(40);
    for (number, readme) in readmes.iter().enumerate() {
        std::fs::copy(readme, target.join(format!("{number}.md"))).expect("a copy");
    }
    readmes.len()
}

#[tokio::test]
async fn s61_a_folder_that_nobody_prepared_gives_true_quotes_too() {
    let legwork = Legwork::new();
    // What the others say of threads is chance; this one answers the question.
    legwork.write(
        "documents/own.txt",
        "An advantage of threads is that they share memory, so handing over work is cheap. Locks are slow when contended.\n",
    );
    let documents = legwork.path("documents");
    let foreign = foreign_documents(&documents);
    let output = legwork
        .run(&["run", "What are the advantages of threads?", "--sources", "documents"])
        .await;
    let report = output.success();
    let checked = verified(&report, &documents);
    assert!(checked > 0, "no quotes from {foreign} documents:\n{report}");
}
