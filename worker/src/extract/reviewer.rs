//! The reviewer: an independent pass over the same documents, for what the researcher does not look for.
//!
//! It takes no findings. It reads every sentence on the subject for figures, compares those between documents,
//! looks for words that limit what was said, and accounts for each document.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::citation::Quote;
use super::claim::{ClaimAt, contradictions};
use super::figure::{Dimension, numbers};
use super::lexicon::{LIMITS, OPEN};
use super::quality;
use super::question::Question;
use super::similarity::{TermSet, term_set};
use crate::docs::index::SentenceId;
use crate::docs::words::is_mostly_cjk;
use crate::docs::{DocIndex, Document, IndexError, LeftOut, Note, Role, Section, Sentence, Why, query};

/// How many sentences on the subject are read; the best ranked of a corpus with more.
const READ_MAX: usize = 50_000;

/// How many of each kind the review carries: what a reader would still look at.
const DISAGREEMENTS_MAX: usize = 10;
const SHARED_MAX: usize = 5;
const QUOTES_PER_FIGURE_MAX: usize = 4;
const LIMITS_MAX: usize = 10;
const LIMITS_PER_DOCUMENT_MAX: usize = 2;
const OPEN_MAX: usize = 4;

/// How many documents and files are named one by one; the rest is counted.
const NAMED_MAX: usize = 100;

/// A limit is only worth a line if it can stand alone.
const PENALTY_MAX: f64 = 0.3;

/// A figure, and who gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The figure as it stands in the sentence.
    pub figure: String,
    /// The sentence.
    pub quote: Quote,
    /// What the document adds about this figure right behind the sentence.
    pub note: Option<Quote>,
}

/// Two documents that give different figures for the same thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disagreement {
    /// What the figures are said of: the sentence with a gap for the figure.
    pub subject: String,
    /// One document's figure.
    pub a: Claim,
    /// The other's.
    pub b: Claim,
}

/// A figure that several documents give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFigure {
    /// The figure as the first of them has it.
    pub figure: String,
    /// One sentence of each document.
    pub quotes: Vec<Quote>,
}

/// What one document has on the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Its path.
    pub file: String,
    /// Its title.
    pub title: String,
    /// Its sentences that name the subject or stand under a heading that does.
    pub on_subject: usize,
    /// What the document says against its own use as evidence.
    pub caveat: Option<Quote>,
    /// What had to be done to read it.
    pub notes: Vec<Note>,
}

/// Files or documents, of which only the first are named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named<T> {
    /// How many there are.
    pub count: usize,
    /// The first of them.
    pub first: Vec<T>,
}

impl<T> FromIterator<T> for Named<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut named = Self {
            count: 0,
            first: vec![],
        };
        items.into_iter().for_each(|item| named.push(item));
        named
    }
}

impl<T> Named<T> {
    fn push(&mut self, item: T) {
        self.count += 1;
        if self.first.len() < NAMED_MAX {
            self.first.push(item);
        }
    }
}

/// Files that were not read for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The reason, with the detail of the first of them.
    #[serde(flatten)]
    pub why: Why,
    /// Their paths.
    pub files: Named<String>,
}

/// What the reviewer saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// The question as it was asked.
    pub question: String,
    /// Contradictions in figures.
    pub disagreements: Vec<Disagreement>,
    /// Figures on which documents agree.
    pub shared_figures: Vec<SharedFigure>,
    /// Sentences that limit what others say.
    pub limits: Vec<Quote>,
    /// What documents say that they leave open.
    pub open: Vec<Quote>,
    /// Words of the subject that stand in no document.
    pub missing_words: Vec<String>,
    /// The documents with something on the subject.
    pub coverage: Named<Coverage>,
    /// The documents with nothing on it.
    pub silent: Named<String>,
    /// The files that were not read, by reason.
    pub unread: Vec<Unread>,
}

/// Passes over the documents for figures, contradictions, limits and coverage.
///
/// # Errors
/// [`IndexError`] if the index fails.
pub fn review(question: &Question, index: &DocIndex) -> Result<Review, IndexError> {
    let on_subject = on_subject(question, index)?;
    let warned: BTreeMap<&str, Quote> = warned(index);
    let sentences: Vec<(&Document, &Sentence)> = on_subject.iter().map(|id| index.sentence(*id)).collect();
    let sound = |(document, sentence): &&(&Document, &Sentence)| {
        matches!(sentence.role, Role::Prose | Role::Item)
            && !quality::is_apparatus(document, sentence)
            && !quality::is_boilerplate(&sentence.text, question)
    };
    let sound: Vec<(&Document, &Sentence)> = sentences.iter().filter(sound).copied().collect();
    let (coverage, silent) = coverage(index, &sentences, &warned);
    Ok(Review {
        question: question.text.clone(),
        disagreements: disagreements(&sound),
        shared_figures: shared_figures(&sound, &warned),
        limits: limits(question, &sound, &warned),
        open: open(index),
        missing_words: missing_words(question, index)?,
        coverage,
        silent,
        unread: unread(&index.corpus().left_out),
    })
}

fn unread(left_out: &[LeftOut]) -> Vec<Unread> {
    let mut groups: Vec<Unread> = Vec::new();
    for LeftOut { path, why } in left_out {
        let same = |group: &&mut Unread| std::mem::discriminant(&group.why) == std::mem::discriminant(why);
        if let Some(group) = groups.iter_mut().find(same) {
            group.files.push(path.clone());
        } else {
            groups.push(Unread {
                why: why.clone(),
                files: [path.clone()].into_iter().collect(),
            });
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.files.count));
    groups
}

/// The sentences that name the subject, or whose headings do, in the order of the corpus.
fn on_subject(question: &Question, index: &DocIndex) -> Result<Vec<SentenceId>, IndexError> {
    let Some(query) = query::any_of(&question.subject_text()) else {
        return Ok(vec![]);
    };
    let mut ids: Vec<SentenceId> = index.ranked(&query, READ_MAX)?.into_iter().map(|(id, _)| id).collect();
    ids.sort_unstable();
    Ok(ids)
}

fn warned(index: &DocIndex) -> BTreeMap<&str, Quote> {
    let caveat = |document| quality::caveat(document).map(|sentence| Quote::of(&document.path, sentence));
    let documents = index.corpus().documents.iter();
    documents
        .filter_map(|document| Some((document.path.as_str(), caveat(document)?)))
        .collect()
}

fn disagreements(sentences: &[(&Document, &Sentence)]) -> Vec<Disagreement> {
    let claims = sentences
        .iter()
        .flat_map(|(document, sentence)| ClaimAt::of(document, sentence))
        .collect();
    let mut found: Vec<Disagreement> = Vec::new();
    let mut seen = BTreeSet::new();
    for (a, b) in contradictions(claims) {
        // The same contradiction between copies of the same sentences is one.
        if found.len() == DISAGREEMENTS_MAX || !seen.insert((a.sentence.text.clone(), b.sentence.text.clone())) {
            continue;
        }
        found.push(Disagreement {
            subject: subject(&a),
            a: claim(&a),
            b: claim(&b),
        });
    }
    found
}

fn claim(claim: &ClaimAt<'_>) -> Claim {
    let (document, sentence) = (claim.document, claim.sentence);
    let mut from_here = document
        .sentences
        .iter()
        .skip_while(|other| !std::ptr::eq(*other, sentence))
        .skip(1);
    let next = from_here.next().filter(|next| next.section == sentence.section);
    let explains = |next: &&Sentence| {
        let lower = next.text.to_lowercase();
        [
            "this figure",
            "this number",
            "this value",
            "this counts",
            "it counts",
            "it includes",
            "that includes",
            "这个数字",
        ]
        .iter()
        .any(|start| lower.starts_with(start))
    };
    Claim {
        figure: claim.shown().to_owned(),
        quote: Quote::of(&document.path, sentence),
        note: next.filter(explains).map(|next| Quote::of(&document.path, next)),
    }
}

fn subject(claim: &ClaimAt<'_>) -> String {
    let mut text = claim.sentence.text.clone();
    text.replace_range(claim.figure.span.clone(), "…");
    text
}

fn shared_figures(sentences: &[(&Document, &Sentence)], warned: &BTreeMap<&str, Quote>) -> Vec<SharedFigure> {
    type Group<'a> = Vec<(&'a Document, &'a Sentence, TermSet, String)>;
    let mut groups: BTreeMap<(Dimension, String), Group<'_>> = BTreeMap::new();
    for (document, sentence) in sentences {
        if warned.contains_key(document.path.as_str()) || !quality::is_quotable(sentence) {
            continue;
        }
        for figure in numbers(&sentence.text).figures {
            let shown = sentence.text[figure.span.clone()].to_owned();
            let digits = shown.chars().filter(char::is_ascii_digit).count();
            let measured = !matches!(figure.dimension, Dimension::Count(_) | Dimension::Factor);
            // Two documents have 50 percent by chance; they do not have 3.07 GB by chance.
            if measured && digits >= 3 {
                let group = groups
                    .entry((figure.dimension, format!("{:.2e}", figure.value)))
                    .or_default();
                group.push((document, sentence, term_set(&sentence.text), shown));
            }
        }
    }
    let mut shared: Vec<SharedFigure> = groups.values().filter_map(|group| shared_figure(group)).collect();
    shared.sort_by_key(|figure| std::cmp::Reverse(figure.quotes.len()));
    shared.truncate(SHARED_MAX);
    shared
}

fn shared_figure(group: &[(&Document, &Sentence, TermSet, String)]) -> Option<SharedFigure> {
    let (_, _, first_terms, figure) = group.first()?.clone();
    let mut quotes: Vec<Quote> = Vec::new();
    for (document, sentence, terms, _) in group {
        let about_the_same = terms.intersection(&first_terms).count() >= 2;
        let new = quotes
            .iter()
            .all(|quote| quote.citation.file != document.path && quote.text != sentence.text);
        if about_the_same && new && quotes.len() < QUOTES_PER_FIGURE_MAX {
            quotes.push(Quote::of(&document.path, sentence));
        }
    }
    (quotes.len() > 1).then_some(SharedFigure { figure, quotes })
}

fn limits(question: &Question, sentences: &[(&Document, &Sentence)], warned: &BTreeMap<&str, Quote>) -> Vec<Quote> {
    let subject = question.subject_terms();
    let limits = |document: &Document, sentence: &Sentence| {
        let lower = sentence.text.to_lowercase();
        LIMITS.iter().any(|phrase| quality::has_phrase(&lower, phrase))
            && is_mostly_cjk(&sentence.text) == is_mostly_cjk(&question.text)
            && !warned.contains_key(document.path.as_str())
            && quality::is_quotable(sentence)
            && quality::penalty(sentence) <= PENALTY_MAX
    };
    let named = |sentence: &Sentence| {
        let terms = term_set(&sentence.text);
        subject.iter().filter(|term| terms.contains(*term)).count()
    };
    let limiting = sentences
        .iter()
        .filter(|(document, sentence)| limits(document, sentence));
    let mut limiting: Vec<_> = limiting
        .map(|pair| (named(pair.1), pair))
        .filter(|(named, _)| *named > 0)
        .collect();
    limiting.sort_by_key(|(named, _)| std::cmp::Reverse(*named));
    let mut of_document: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (_, (document, sentence)) in limiting {
        let count = of_document.entry(&document.path).or_default();
        if *count < LIMITS_PER_DOCUMENT_MAX && found.len() < LIMITS_MAX {
            *count += 1;
            found.push(Quote::of(&document.path, sentence));
        }
    }
    found
}

/// One sentence of each document that names what it leaves open.
fn open(index: &DocIndex) -> Vec<Quote> {
    let names_gaps = |section: &Section| {
        let heading = section.headings.last().map(|heading| heading.to_lowercase());
        heading.is_some_and(|heading| OPEN.iter().any(|phrase| quality::has_phrase(&heading, phrase)))
    };
    let of_document = |document: &Document| {
        let section = u32::try_from(document.sections.iter().position(names_gaps)?).ok()?;
        let stands = |sentence: &&Sentence| {
            sentence.section == section && quality::is_quotable(sentence) && !quality::points_elsewhere(&sentence.text)
        };
        Some(Quote::of(&document.path, document.sentences.iter().find(stands)?))
    };
    index
        .corpus()
        .documents
        .iter()
        .filter_map(of_document)
        .take(OPEN_MAX)
        .collect()
}

fn missing_words(question: &Question, index: &DocIndex) -> Result<Vec<String>, IndexError> {
    let mut missing = Vec::new();
    for word in &question.subject {
        let found = match query::all_of(&word.shown) {
            Some(query) => !index.ranked(&query, 1)?.is_empty(),
            None => true,
        };
        if !found {
            missing.push(word.shown.clone());
        }
    }
    Ok(missing)
}

fn coverage(
    index: &DocIndex,
    on_subject: &[(&Document, &Sentence)],
    warned: &BTreeMap<&str, Quote>,
) -> (Named<Coverage>, Named<String>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (document, _) in on_subject {
        *counts.entry(&document.path).or_default() += 1;
    }
    let mut covered = Vec::new();
    let mut silent = Vec::new();
    for document in &index.corpus().documents {
        match counts.get(document.path.as_str()) {
            Some(on_subject) => covered.push(Coverage {
                file: document.path.clone(),
                title: document.title.clone(),
                on_subject: *on_subject,
                caveat: warned.get(document.path.as_str()).cloned(),
                notes: document.notes.clone(),
            }),
            None => silent.push(document.path.clone()),
        }
    }
    covered.sort_by_key(|coverage| std::cmp::Reverse(coverage.on_subject));
    (covered.into_iter().collect(), silent.into_iter().collect())
}
