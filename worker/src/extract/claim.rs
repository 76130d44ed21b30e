//! Claims: figures with what they are said of, so that two documents can be found to differ.

use std::collections::{BTreeMap, BTreeSet};

use super::figure::{Dimension, Figure, numbers};
use super::similarity::{TermSet, term_set};
use crate::docs::words::stem;
use crate::docs::{Document, Sentence};

/// The fewest terms that say what a figure is about; with less, two sentences are alike by chance.
const SUBJECT_TERMS_MIN: usize = 5;

/// How much of their terms two claims must share, of all terms of both.
const ALIKE: f64 = 0.8;
const NEARLY_THE_SAME: f64 = 0.9;

/// Up to how many claims of one kind are compared each with each; beyond it only those with the very same terms.
const COMPARED_MAX: usize = 300;

/// Words that change nothing about what a figure is said of.
const HEDGES: &[&str] = &[
    "about",
    "roughly",
    "approximately",
    "around",
    "nearly",
    "almost",
    "circa",
    "some",
    "typically",
    "usually",
    "generally",
];

/// Words for one and the same relation; each is compared as the first.
const RELATIONS: &[&str] = &["need", "tak", "requir", "us", "occupy", "consum", "cost"];

/// Words that set the terms under which a figure holds: both sentences must have the same ones.
const CONDITIONS: &[&str] = &[
    "with",
    "without",
    "when",
    "if",
    "under",
    "after",
    "before",
    "per",
    "during",
    "unless",
    "except",
    "only",
    "not",
    "no",
    "never",
    "first",
    "second",
    "third",
    "last",
    "upper",
    "lower",
    "least",
    "most",
    "max",
    "min",
    "maximum",
    "minimum",
    "more",
    "less",
    "up",
    "over",
    "below",
    "above",
    "each",
    "every",
    "compressed",
    "uncompressed",
    "median",
    "mean",
    "average",
    "example",
];

/// A figure in a sentence.
#[derive(Debug, Clone)]
pub struct ClaimAt<'a> {
    /// The document.
    pub document: &'a Document,
    /// The sentence.
    pub sentence: &'a Sentence,
    /// The figure.
    pub figure: Figure,
    /// The terms of the sentence outside of its numbers.
    pub subject: TermSet,
    /// What must be equal for the two figures to be about the same thing.
    terms: Terms,
}

/// The configuration of a claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Terms {
    dimension: Dimension,
    /// The other numbers of the sentence, sorted.
    numbers: Vec<String>,
    /// Its words from [`CONDITIONS`], sorted.
    conditions: Vec<String>,
    /// Its names: words in capitals, with digits, or joined.
    names: BTreeSet<String>,
}

impl<'a> ClaimAt<'a> {
    /// The claims of a sentence: one for each of its figures.
    #[must_use]
    pub fn of(document: &'a Document, sentence: &'a Sentence) -> Vec<Self> {
        let text = sentence.text.as_str();
        let numbers = numbers(text);
        if numbers.figures.is_empty() {
            return vec![];
        }
        let mut bare = text.to_owned();
        let spans = numbers
            .all
            .iter()
            .map(|(span, _)| span)
            .chain(numbers.figures.iter().map(|figure| &figure.span));
        for span in spans {
            bare.replace_range(span.clone(), &" ".repeat(span.len()));
        }
        let words: Vec<String> = bare
            .split(|c: char| !c.is_alphanumeric())
            .map(str::to_lowercase)
            .collect();
        let mut conditions: Vec<String> = words
            .iter()
            .filter(|word| CONDITIONS.contains(&word.as_str()))
            .cloned()
            .collect();
        conditions.sort();
        let subject = subject(&bare);
        let names = names(&bare);
        let claim = |figure: &Figure| {
            let others = numbers.all.iter().filter(|(span, _)| span.start != figure.span.start);
            let mut numbers: Vec<String> = others.map(|(_, number)| number.clone()).collect();
            numbers.sort();
            let dimension = figure.dimension.clone();
            let terms = Terms {
                dimension,
                numbers,
                conditions: conditions.clone(),
                names: names.clone(),
            };
            Self {
                document,
                sentence,
                figure: figure.clone(),
                subject: subject.clone(),
                terms,
            }
        };
        numbers.figures.iter().map(claim).collect()
    }

    /// The figure as it stands in the sentence.
    #[must_use]
    pub fn shown(&self) -> &'a str {
        &self.sentence.text[self.figure.span.clone()]
    }

    fn contradicts(&self, other: &Self) -> bool {
        !std::ptr::eq(self.document, other.document)
            && !self.figure.agrees_with(&other.figure)
            && same_subject(&self.subject, &other.subject)
    }
}

/// The pairs of claims of two documents that give different figures for the same thing, in the order of the claims.
///
/// A document that gives several figures for the same words lists measurements: those never contradict anything.
#[must_use]
pub fn contradictions<'a>(claims: Vec<ClaimAt<'a>>) -> Vec<(ClaimAt<'a>, ClaimAt<'a>)> {
    let mut kinds: BTreeMap<Terms, Vec<ClaimAt<'a>>> = BTreeMap::new();
    for claim in without_measurements(claims) {
        if claim.subject.len() >= SUBJECT_TERMS_MIN {
            kinds.entry(claim.terms.clone()).or_default().push(claim);
        }
    }
    let mut found = Vec::new();
    for claims in kinds.into_values() {
        let all = claims.len() <= COMPARED_MAX;
        for (at, a) in claims.iter().enumerate() {
            let others = claims[at + 1..].iter().take(COMPARED_MAX);
            let differs = |b: &&ClaimAt<'a>| (all || a.subject == b.subject) && a.contradicts(b);
            found.extend(others.filter(differs).map(|b| (a.clone(), b.clone())));
        }
    }
    found.sort_by(|a, b| place(&a.0).cmp(&place(&b.0)).then(place(&a.1).cmp(&place(&b.1))));
    found
}

fn place<'a>(claim: &ClaimAt<'a>) -> (&'a str, u32) {
    (&claim.document.path, claim.sentence.lines.first)
}

/// Drops the claims whose words stand in their own document with another figure too.
fn without_measurements(claims: Vec<ClaimAt<'_>>) -> Vec<ClaimAt<'_>> {
    type Key<'k> = (&'k str, &'k TermSet, &'k Dimension);
    let mut values: BTreeMap<Key<'_>, Option<f64>> = BTreeMap::new();
    for claim in &claims {
        let value = claim.figure.value;
        let key = (claim.document.path.as_str(), &claim.subject, &claim.figure.dimension);
        let known = values.entry(key).or_insert(Some(value));
        if known.is_some_and(|known| (known - value).abs() > f64::EPSILON) {
            *known = None;
        }
    }
    let single: Vec<bool> = claims
        .iter()
        .map(|claim| values[&(claim.document.path.as_str(), &claim.subject, &claim.figure.dimension)].is_some())
        .collect();
    claims
        .into_iter()
        .zip(single)
        .filter(|(_, single)| *single)
        .map(|(claim, _)| claim)
        .collect()
}

fn same_subject(a: &TermSet, b: &TermSet) -> bool {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    let ratio =
        |part: f64| f64::from(u32::try_from(shared).unwrap_or(0)) >= part * f64::from(u32::try_from(all).unwrap_or(1));
    let one_has_only_more = shared == a.len() || shared == b.len();
    ratio(NEARLY_THE_SAME) || one_has_only_more && ratio(ALIKE)
}

fn subject(bare: &str) -> TermSet {
    let canonical = |term: String| {
        if RELATIONS.contains(&term.as_str()) {
            RELATIONS[0].to_owned()
        } else {
            term
        }
    };
    let hedges: Vec<String> = HEDGES.iter().map(|hedge| stem(hedge)).collect();
    term_set(bare)
        .into_iter()
        .filter(|term| !hedges.contains(term))
        .map(canonical)
        .collect()
}

/// Words that name one thing and no other: with digits, joined by a hyphen, or with a capital inside the sentence.
fn names(bare: &str) -> BTreeSet<String> {
    let words = bare
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let named = words.enumerate().filter(|(at, word)| {
        let capitals = word.chars().filter(|c| c.is_uppercase()).count();
        let digits = word.chars().any(|c| c.is_ascii_digit());
        let joined = word.contains(['-', '_', '.', '/', '=']);
        digits || joined || capitals > 1 || capitals == 1 && *at > 0
    });
    named.map(|(_, word)| word.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let read = |(path, text): &(&str, &str)| Document::read(path, text.as_bytes()).expect("text");
        let documents: Vec<Document> = files.iter().map(read).collect();
        let claims = |document| Document::claims(document);
        let claims: Vec<ClaimAt<'_>> = documents.iter().flat_map(claims).collect();
        let show = |(a, b): &(ClaimAt<'_>, ClaimAt<'_>)| format!("{} {}", a.shown(), b.shown());
        contradictions(claims).iter().map(show).collect()
    }

    impl Document {
        fn claims(&self) -> Vec<ClaimAt<'_>> {
            self.sentences
                .iter()
                .flat_map(|sentence| ClaimAt::of(self, sentence))
                .collect()
        }
    }

    const ONE: &str = "An HNSW index over one million 768-dimensional float32 vectors needs about 3.3 GB of memory.";

    #[test]
    fn two_documents_with_different_figures_for_the_same_thing_disagree() {
        let other = "An HNSW index over 1,000,000 768-dimensional float32 vectors takes roughly 6.0 GB of memory.";
        assert_eq!(found(&[("a.md", ONE), ("b.md", other)]), ["3.3 GB 6.0 GB"]);
        let chinese = |figure: &str| format!("一百万条向量的图索引在内存中大约需要 {figure} 的空间。");
        assert_eq!(
            found(&[("a.md", &chinese("3.3 GB")), ("b.md", &chinese("6 GB"))]),
            ["3.3 GB 6 GB"]
        );
    }

    #[test]
    fn figures_of_different_configurations_do_not_disagree() {
        for other in [
            "An HNSW index over one million 768-dimensional float32 vectors needs about 3.30 GB of memory.",
            "An HNSW index over two million 768-dimensional float32 vectors needs about 6.6 GB of memory.",
            "An HNSW index over one million 384-dimensional float32 vectors needs about 1.7 GB of memory.",
            "An HNSW index over one million 768-dimensional float16 vectors needs about 1.7 GB of memory.",
            "An IVF index over one million 768-dimensional float32 vectors needs about 3.1 GB of memory.",
            "An HNSW index over one million 768-dimensional float32 vectors needs about 5 minutes of memory.",
            "An HNSW index over one million 768-dimensional float32 vectors needs at least 2 GB of memory.",
            "An HNSW index over one million 768-dimensional float32 vectors needs about 1 GB of memory with PQ.",
            "An HNSW graph on museum pictures of animals in London needs about 6.0 GB of memory.",
        ] {
            assert_eq!(found(&[("a.md", ONE), ("b.md", other)]), [""; 0], "{other}");
        }
    }

    #[test]
    fn a_document_never_disagrees_with_itself_and_its_measurements_with_nothing() {
        let entry =
            |figure: &str| format!("The median latency of the warm index over all questions was {figure} ms.\n\n");
        let log = format!("{}{}{}", entry("3"), entry("4"), entry("5"));
        assert_eq!(found(&[("a.md", &log)]), [""; 0]);
        assert_eq!(found(&[("a.md", &log), ("b.md", &entry("9"))]), [""; 0]);
        assert_eq!(found(&[("a.md", &entry("3")), ("b.md", &entry("9"))]), ["3 ms 9 ms"]);
    }

    #[test]
    fn many_claims_of_one_kind_are_compared_in_bounded_time() {
        let entry = |at: usize| {
            let word = |length: usize| "z".repeat(length);
            format!(
                "The tool {} copies the archive to a backup folder {} in {at} ms.",
                word(at + 2),
                word(at + 3)
            )
        };
        let count = 2 * COMPARED_MAX;
        let texts: Vec<(String, String)> = (0..count).map(|at| (format!("{at:05}.md"), entry(at))).collect();
        let files: Vec<(&str, &str)> = texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        assert_eq!(found(&files), [""; 0]);
    }
}
