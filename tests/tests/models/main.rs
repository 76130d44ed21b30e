//! Both wires against scripted servers: whole replies, every fault, and what a provider may do to us.

mod cancel;
mod configure;
mod faults;
mod limits;
mod program;
mod replies;
mod server;
mod setup;
mod statuses;
