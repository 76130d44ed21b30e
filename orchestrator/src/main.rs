//! The `legwork` binary.

fn main() {}
