//! Rules about the repository itself: what may stand where, who may import whom, how long things may be.
//!
//! Each module holds one kind of rule as a function from a [`tree::Tree`] to [`tree::Finding`]s. Its tests run the rule on
//! this repository and show on small made-up trees that it finds what it is there to find.

mod clocks;
mod dependencies;
mod documents;
mod embedded;
mod error_pages;
mod imports;
mod layout;
mod marks;
mod rust;
mod sizes;
mod tree;
mod waits;
