//! Tests of Legwork on the real parts.

pub mod harness;
pub mod make;
pub mod model_server;
