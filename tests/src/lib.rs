//! Tests of Legwork on the real parts.

pub mod model_server;
