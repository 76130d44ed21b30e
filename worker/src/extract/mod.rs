//! Research without a language model: sentences are found, compared and quoted, never written.
//!
//! Four roles, each a function of typed values that travel between jobs as JSON:
//!
//! - [`research`] finds the sentences that bear on each aspect of the question;
//! - [`review`] passes over the same documents on its own, for figures, contradictions and limits;
//! - [`analyse`] groups both into findings, agreements, disagreements and gaps;
//! - [`report`] sets them out in Markdown, each quote with its file and line.
//!
//! The same documents and question give the same report, byte for byte. [`check_citations`] verifies that every
//! quote stands where the report says.

mod analyst;
pub mod citation;
mod claim;
pub mod figure;
mod lexicon;
mod phrases;
mod quality;
pub mod question;
mod researcher;
mod reviewer;
mod similarity;
#[cfg(test)]
mod tests;
mod weigh;
mod writer;

pub use analyst::{Agreement, Analysis, Gap, Group, analyse};
pub use citation::{CitationCheck, CitationFault, check_citations};
pub use question::{Aspect, Language, Question, Subjects};
pub use researcher::{Finding, Findings, Polarity, Searched, research};
pub use reviewer::{Claim, Coverage, Disagreement, Named, Review, SharedFigure, Unread, review};
pub use writer::report;
