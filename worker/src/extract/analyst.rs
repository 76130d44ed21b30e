//! The analyst: brings findings and review together into points, agreements, disagreements and gaps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::citation::Quote;
use super::question::{Aspect, Question};
use super::researcher::{Finding, Findings, Searched};
use super::reviewer::{Coverage, Disagreement, Named, Review, SharedFigure, Unread};

/// An aspect with fewer findings than this is a gap, though what there is is shown.
const FINDINGS_ENOUGH: usize = 2;

/// How many limits the analysis keeps beside the findings.
const LIMITS_MAX: usize = 5;

/// The findings of one aspect, numbered through the whole analysis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The aspect.
    pub aspect: Aspect,
    /// The number of the first finding, counted from 1.
    pub first_number: usize,
    /// The findings, the best first; empty if the documents say nothing.
    pub findings: Vec<Finding>,
}

/// A point that several documents make in different words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// The numbers of the findings that make it, at least one.
    pub findings: Vec<usize>,
    /// Further sentences that make it.
    pub echoes: Vec<Quote>,
}

/// What the question asks and the documents do not answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "gap")]
pub enum Gap {
    /// Little or nothing was found on an aspect.
    Thin {
        /// The aspect.
        aspect: Aspect,
        /// How many findings there are.
        findings: usize,
    },
    /// Words of the question stand in no document.
    Missing {
        /// The words.
        words: Vec<String>,
    },
    /// A document says itself what it leaves open.
    Stated {
        /// Where it says so.
        quote: Quote,
    },
    /// Documents were read and have nothing on the subject.
    Silent {
        /// Which.
        documents: Named<String>,
    },
    /// Files were not read.
    Unread {
        /// Which, and why.
        unread: Unread,
    },
}

/// What the writer sets out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// The question as it was asked.
    pub question: String,
    /// What was searched.
    pub searched: Searched,
    /// The findings by aspect, in the order of the question.
    pub groups: Vec<Group>,
    /// What several documents say.
    pub agreements: Vec<Agreement>,
    /// The figures that several documents give.
    pub shared_figures: Vec<SharedFigure>,
    /// Where documents contradict each other.
    pub disagreements: Vec<Disagreement>,
    /// Sentences that limit the findings.
    pub limits: Vec<Quote>,
    /// What stays open.
    pub gaps: Vec<Gap>,
    /// The documents with something on the subject.
    pub coverage: Named<Coverage>,
}

/// Brings findings and review together.
#[must_use]
pub fn analyse(question: &Question, findings: &Findings, review: &Review) -> Analysis {
    let groups = groups(question, &findings.findings);
    let quoted = |quote: &Quote| findings.findings.iter().any(|finding| finding.quote == *quote);
    let limits = review
        .limits
        .iter()
        .filter(|quote| !quoted(quote))
        .take(LIMITS_MAX)
        .cloned()
        .collect();
    Analysis {
        question: question.text.clone(),
        searched: findings.searched,
        agreements: agreements(&groups),
        gaps: gaps(&groups, review),
        groups,
        shared_figures: review.shared_figures.clone(),
        disagreements: review.disagreements.clone(),
        limits,
        coverage: review.coverage.clone(),
    }
}

fn groups(question: &Question, findings: &[Finding]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut first_number = 1;
    for aspect in &question.aspects {
        let of_aspect: Vec<Finding> = findings
            .iter()
            .filter(|finding| finding.aspect == *aspect)
            .cloned()
            .collect();
        let count = of_aspect.len();
        groups.push(Group {
            aspect: *aspect,
            first_number,
            findings: of_aspect,
        });
        first_number += count;
    }
    groups
}

/// The findings that other documents echo; where the echo is a finding itself, the two are one agreement.
fn agreements(groups: &[Group]) -> Vec<Agreement> {
    let numbered: Vec<(usize, &Finding)> = groups
        .iter()
        .flat_map(|group| (group.first_number..).zip(&group.findings))
        .collect();
    let numbers: BTreeMap<&super::citation::Citation, usize> = numbered
        .iter()
        .map(|(number, finding)| (&finding.quote.citation, *number))
        .collect();
    let mut agreements: Vec<Agreement> = Vec::new();
    for (number, finding) in &numbered {
        let mut agreement = Agreement {
            findings: vec![*number],
            echoes: vec![],
        };
        for echo in &finding.echoes {
            match numbers.get(&echo.citation) {
                Some(other) => agreement.findings.push(*other),
                None => agreement.echoes.push(echo.clone()),
            }
        }
        agreement.findings.sort_unstable();
        agreement.findings.dedup();
        let known = agreements
            .iter_mut()
            .find(|known| known.findings.iter().any(|at| agreement.findings.contains(at)));
        match known {
            Some(known) => merge(known, agreement),
            None if agreement.findings.len() + agreement.echoes.len() > 1 => agreements.push(agreement),
            None => {}
        }
    }
    without_repetition(agreements)
}

fn merge(known: &mut Agreement, other: Agreement) {
    known.findings.extend(other.findings);
    known.findings.sort_unstable();
    known.findings.dedup();
    known.echoes.extend(other.echoes);
}

/// An echo is quoted once, at the first finding that it belongs to.
fn without_repetition(mut agreements: Vec<Agreement>) -> Vec<Agreement> {
    let mut seen = std::collections::BTreeSet::new();
    for agreement in &mut agreements {
        agreement.echoes.retain(|echo| seen.insert(echo.citation.clone()));
    }
    agreements.retain(|agreement| agreement.findings.len() + agreement.echoes.len() > 1);
    agreements
}

fn gaps(groups: &[Group], review: &Review) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = groups
        .iter()
        .filter(|group| group.findings.len() < FINDINGS_ENOUGH)
        .map(|group| Gap::Thin {
            aspect: group.aspect,
            findings: group.findings.len(),
        })
        .collect();
    if !review.missing_words.is_empty() {
        gaps.push(Gap::Missing {
            words: review.missing_words.clone(),
        });
    }
    gaps.extend(review.open.iter().map(|quote| Gap::Stated { quote: quote.clone() }));
    if review.silent.count > 0 {
        gaps.push(Gap::Silent {
            documents: review.silent.clone(),
        });
    }
    gaps.extend(
        review
            .unread
            .iter()
            .map(|unread| Gap::Unread { unread: unread.clone() }),
    );
    gaps
}
