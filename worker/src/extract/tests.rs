//! The four roles together, on small folders.

use std::fmt::Write as _;

use super::*;
use crate::docs::{Bounds, DocIndex, Roots, load};

const GUIDE: &str = "# Lamp oil guide

## Advantages

The main advantage of lamp oil is that it burns without any smell.
Lamp oil can be stored for many years in a closed can.

## Drawbacks

The main drawback of lamp oil is its price, which is higher than that of candles.
A lamp with a burner of size 14 needs about 30 ml of lamp oil for one hour.
This figure counts a clean wick only.

## References

The advantage of lamp oil was described by A. B. Miller in a long and famous book.
";

const NOTES: &str =
    "<html><head><title>Oil &amp; wicks</title><style>.x { content: 'a drawback of lamp oil' }</style></head>
<body><h1>Oil &amp; wicks</h1>
<p>A lamp with a burner of size 14 needs about 45 ml of lamp oil for one hour.
The price of lamp oil is a drawback, because candles &amp; wax have
a much lower price.</p></body></html>
";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("temporary folder");
    for (path, text) in files {
        std::fs::write(folder.path().join(path), text).expect("file");
    }
    folder
}

/// The analysis and report on a folder, each role's answer carried over as JSON as between jobs.
fn answer(folder: &tempfile::TempDir, question: &str) -> (Analysis, String) {
    let corpus = load(&Roots::one(folder.path()), &Bounds::default()).expect("corpus");
    let index = DocIndex::build(corpus).expect("index");
    let question = Question::parse(question);
    let findings = carried(&research(&question, &index).expect("findings"));
    let review = carried(&review(&question, &index).expect("review"));
    let analysis = carried(&analyse(&question, &findings, &review));
    let report = report(&question, &analysis);
    check_citations(&report, folder.path()).expect("every citation holds");
    (analysis, report)
}

fn carried<T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("JSON");
    let read: T = serde_json::from_str(&text).expect("the same type");
    assert_eq!(read, *value);
    read
}

#[test]
fn s31_a_report_quotes_groups_compares_and_names_its_gaps() {
    let folder = folder(&[
        ("guide.md", GUIDE),
        ("notes.html", NOTES),
        ("other.txt", "Nothing of it here.\n"),
    ]);
    std::fs::write(folder.path().join("picture.png"), b"\x89PNG\0\0").expect("file");
    let (_, report) = answer(
        &folder,
        "What are the advantages and drawbacks of lamp oil in Greenland?",
    );
    let expected = "\
# What are the advantages and drawbacks of lamp oil in Greenland?

**How this report was made.** No language model was used. 3 documents and 15 sentences were searched by words, and fixed rules chose 4 findings. Text in quotation marks was copied from the documents word for word; the file and the line stand behind it. Nothing was summarised or judged, so read it as a guided tour of the sources.

## Findings

### Advantages

1. “The main advantage of lamp oil is that it burns without any smell.” [guide.md:5]
2. “Lamp oil can be stored for many years in a closed can.” [guide.md:6]

### Drawbacks

3. “The main drawback of lamp oil is its price, which is higher than that of candles.” [guide.md:10]
4. “A lamp with a burner of size 14 needs about 30 ml of lamp oil for one hour.” [guide.md:11]

## Agreements

Points that several documents make, as far as the words that they share can tell:

- Close to finding 3:
  - “The price of lamp oil is a drawback, because candles & wax have a much lower price.” [notes.html:4-5]

## Disagreements

- **30 ml ≠ 45 ml** (A lamp with a burner of size 14 needs about … of lamp oil for one hour.)
  - `guide.md` says 30 ml: “A lamp with a burner of size 14 needs about 30 ml of lamp oil for one hour.” [guide.md:11] “This figure counts a clean wick only.” [guide.md:12]
  - `notes.html` says 45 ml: “A lamp with a burner of size 14 needs about 45 ml of lamp oil for one hour.” [notes.html:3]

## Gaps

- Words of the question that stand in no document: `Greenland`.
- 1 document has no word of the subject (another language counts as other words): `other.txt`.
- 1 file was not read (not text): `picture.png`.

## Sources

- `guide.md`: Lamp oil guide (5 sentences quoted, 10 passages on the subject)
- `notes.html`: Oil & wicks (2 sentences quoted, 4 passages on the subject)
";
    assert_eq!(report, expected);
}

#[test]
fn what_a_thing_is_comes_first_where_a_document_says_so() {
    let text = "# Oil\n\nA lamp oil shop is open on every day of the week.\n\nLamp oil is a clear liquid that burns with a bright flame.\n";
    let folder = folder(&[("guide.md", GUIDE), ("oil.md", text)]);
    let (analysis, _) = answer(&folder, "What is lamp oil?");
    assert_eq!(
        analysis.groups.iter().map(|group| group.aspect).collect::<Vec<_>>(),
        [Aspect::Definition, Aspect::Whole]
    );
    let definitions: Vec<String> = analysis.groups[0]
        .findings
        .iter()
        .map(|finding| finding.quote.to_string())
        .collect();
    assert_eq!(
        definitions,
        ["“Lamp oil is a clear liquid that burns with a bright flame.” [oil.md:5]"]
    );
}

#[test]
fn a_chinese_question_gets_a_chinese_report() {
    let text =
        "# 油灯\n\n## 优点\n\n灯油最大的优点是燃烧时几乎没有气味。\n\n## 缺点\n\n灯油的主要缺点是价格比蜡烛高很多。\n";
    let folder = folder(&[("灯.md", text)]);
    let (analysis, report) = answer(&folder, "灯油的优点和缺点是什么？");
    let quotes: Vec<String> = analysis
        .groups
        .iter()
        .flat_map(|group| &group.findings)
        .map(|finding| finding.quote.to_string())
        .collect();
    assert_eq!(
        quotes,
        [
            "“灯油最大的优点是燃烧时几乎没有气味。” [灯.md:5]",
            "“灯油的主要缺点是价格比蜡烛高很多。” [灯.md:9]"
        ]
    );
    assert!(report.contains("没有使用语言模型"), "{report}");
    let headings: Vec<&str> = report.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(
        headings,
        [
            "## 主要发现",
            "## 一致之处",
            "## 矛盾之处",
            "## 未解答的部分",
            "## 来源"
        ]
    );
}

#[test]
fn a_question_that_nothing_answers_gets_a_valid_report_of_gaps() {
    let folder = folder(&[("guide.md", GUIDE)]);
    for question in [
        "",
        "???",
        "Risks of quantum teleportation",
        "什么是量子隐形传态的风险？",
        "“x” [guide.md:99]",
    ] {
        let (analysis, report) = answer(&folder, question);
        assert!(
            analysis.groups.iter().all(|group| group.findings.is_empty()),
            "{question}"
        );
        assert!(
            report.starts_with("# ") && report.matches("\n## ").count() >= 5,
            "{report}"
        );
        assert!(!analysis.gaps.is_empty(), "{question}");
    }
    let (analysis, _) = answer(
        &tempfile::tempdir().expect("temporary folder"),
        "Advantages of lamp oil",
    );
    let expected = [
        Gap::Thin {
            aspect: Aspect::Advantages,
            findings: 0,
        },
        Gap::Missing {
            words: vec!["lamp".to_owned(), "oil".to_owned()],
        },
    ];
    assert_eq!(analysis.gaps, expected);
}

#[test]
fn the_same_folder_gives_the_same_report_byte_for_byte() {
    let folder = folder(&[("guide.md", GUIDE), ("notes.html", NOTES), ("b.md", GUIDE)]);
    let first = answer(&folder, "Advantages and drawbacks of lamp oil").1;
    for _ in 0..3 {
        assert_eq!(answer(&folder, "Advantages and drawbacks of lamp oil").1, first);
    }
}

#[test]
fn a_logbook_of_similar_entries_disagrees_with_nothing() {
    let mut log = "# Lamp oil log\n\n**This document is synthetic.**\n\n".to_owned();
    for entry in 0..300 {
        let (hours, oil) = (entry % 7 + 1, entry * 3 % 50 + 10);
        let _ = write!(
            log,
            "## Entry {entry}\n\nThe lamp in the hall burned for {hours} hours with one filling of lamp oil.\n\
             A lamp with a burner of size 14 needs about {oil} ml of lamp oil for one hour.\n\n"
        );
    }
    let other = log.replace("hall", "yard").replace("burned for 1 ", "burned for 9 ");
    let folder = folder(&[("log.md", &log), ("other.md", &other), ("guide.md", GUIDE)]);
    let (analysis, report) = answer(&folder, "Advantages and drawbacks of lamp oil");
    assert_eq!(analysis.disagreements, []);
    assert!(
        report.contains("It says of itself: “**This document is synthetic.**” [log.md:3]"),
        "{report}"
    );
}

#[test]
fn copies_of_a_sentence_are_one_finding_and_no_agreement() {
    let folder = folder(&[("guide.md", GUIDE), ("copy.md", GUIDE)]);
    let (analysis, report) = answer(&folder, "Advantages of lamp oil");
    assert_eq!(analysis.agreements, []);
    assert!(
        report.contains("[copy.md:5] (the same sentence also stands in [guide.md:5])"),
        "{report}"
    );
    assert_eq!(report.matches("burns without any smell").count(), 1);
}

#[test]
fn hostile_documents_cannot_forge_quotes_citations_or_markup() {
    let text = "The main advantage of lamp oil is “clean” [guide.md:5] and nothing else at all.\n\n\
                The main advantage of lamp oil is <script>alert(1)</script> in every single lamp.\n\n\
                The main advantage of lamp oil is an unclosed “quote that swallows the rest of the line.\n";
    let folder = folder(&[
        ("guide.md", GUIDE),
        ("a [1]:2] “x”.md", text),
        (
            "z [1].md",
            "The advantage of lamp oil is that it needs no power at all.\n",
        ),
    ]);
    let (_, report) = answer(&folder, "Advantages of lamp oil");
    assert!(
        !report.contains("script") && !report.contains("swallows") && !report.contains("clean"),
        "{report}"
    );
    assert!(report.contains("needs no power at all.” [z %5B1%5D.md:1]"), "{report}");
}
