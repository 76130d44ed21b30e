//! How much two sentences say the same, by the words they share and how rare those are.

use std::collections::{BTreeSet, HashMap};

use crate::docs::words::terms;

/// The terms of a sentence, each once and in order.
pub type TermSet = BTreeSet<String>;

/// The terms of a text as a set.
#[must_use]
pub fn term_set(text: &str) -> TermSet {
    terms(text).into_iter().collect()
}

/// How much each term tells, learned from the sentences at hand.
#[derive(Debug, Default)]
pub struct Weights {
    counts: HashMap<String, u32>,
    total: u32,
}

impl Weights {
    /// Learns from these sentences.
    #[must_use]
    pub fn of<'a>(sets: impl Iterator<Item = &'a TermSet>) -> Self {
        let mut weights = Self::default();
        for set in sets {
            weights.total += 1;
            for term in set {
                *weights.counts.entry(term.clone()).or_default() += 1;
            }
        }
        weights
    }

    /// The weight of one term: about 1 for a common one, more for a rare one.
    #[must_use]
    pub fn of_term(&self, term: &str) -> f64 {
        let count = self.counts.get(term).copied().unwrap_or(0);
        (1.0 + f64::from(self.total + 1) / f64::from(count + 1)).ln()
    }

    /// Twice the shared weight over the whole weight: 0 for nothing in common, 1 for the same words.
    #[must_use]
    pub fn similarity(&self, a: &TermSet, b: &TermSet) -> f64 {
        let weight = |set: &TermSet| set.iter().map(|term| self.of_term(term)).sum::<f64>();
        let shared: f64 = a.intersection(b).map(|term| self.of_term(term)).sum();
        let whole = weight(a) + weight(b);
        if whole == 0.0 { 0.0 } else { 2.0 * shared / whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_in_common_count_more_than_common_ones() {
        let sets: Vec<TermSet> = ["index memory", "index recall", "index latency", "index disk"]
            .into_iter()
            .map(term_set)
            .collect();
        let weights = Weights::of(sets.iter());
        let rare = weights.similarity(&term_set("graph memory"), &term_set("tree memory"));
        let common = weights.similarity(&term_set("graph index"), &term_set("tree index"));
        assert!(rare > common, "{rare} {common}");
        assert!((weights.similarity(&sets[0], &sets[0]) - 1.0).abs() < 1e-9);
        assert!(weights.similarity(&TermSet::new(), &TermSet::new()) == 0.0);
    }
}
