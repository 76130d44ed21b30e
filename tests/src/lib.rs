//! Tests of Legwork on the real parts.

pub mod certificates;
pub mod chance;
pub mod chaos;
pub mod checker;
pub mod cut_proxy;
pub mod engine;
pub mod harness;
pub mod log;
pub mod make;
pub mod marked;
pub mod model_server;
pub mod redis_cluster;
pub mod redis_sentinels;
pub mod redis_server;
