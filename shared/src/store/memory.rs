//! The reference engine
