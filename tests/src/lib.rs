//! Tests of Legwork on the real parts.
