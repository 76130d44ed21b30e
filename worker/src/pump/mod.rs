//! The pump: from the store through the claimer, the worker and its layers, and back into the store.

mod backend;
mod claimer;
mod leases;
mod run;
mod shutdown;
mod work;

pub(crate) use run::{RunRunner, give_back};
pub use shutdown::Shutdown;
pub use work::Work;

pub(crate) use backend::StoreBackend;
pub(crate) use claimer::Claimer;
pub(crate) use leases::{Keeper, Leases};

#[cfg(test)]
mod tests;
