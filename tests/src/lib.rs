//! Tests of Legwork on the real parts.

pub mod chance;
pub mod chaos;
pub mod checker;
pub mod cut_proxy;
pub mod engine;
pub mod harness;
pub mod make;
pub mod marked;
pub mod model_server;
pub mod redis_server;
