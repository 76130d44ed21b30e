//! What can go wrong.

use crate::chance::Chance;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A worker is killed, and another started.
    Kill,
    /// A worker is stopped beyond its leases, and goes on.
    Pause,
    /// A worker is asked to end, and another started.
    Roll,
    /// All workers are, one after the other.
    RollAll,
    /// The server is killed, and started again with what its file holds.
    ServerCrash,
    /// The disk of the server is full, which ends it; there is room, and it is started again.
    DiskFull,
    /// All that a worker sends and gets takes longer.
    Slow,
    /// All connections of a worker break.
    Cut,
    /// Answers to a worker are lost after the server has acted.
    LostAnswers,
    /// Answers to the client are.
    ClientLostAnswers,
    /// Nothing of a worker passes for longer than its leases hold.
    Silence,
    /// The host of a worker is cut off for longer than its leases hold.
    HostCut,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Kill,
        Self::Pause,
        Self::Roll,
        Self::RollAll,
        Self::ServerCrash,
        Self::DiskFull,
        Self::Slow,
        Self::Cut,
        Self::LostAnswers,
        Self::ClientLostAnswers,
        Self::Silence,
        Self::HostCut,
    ];

    /// One of `faults` after the other, each as often as the others, in an order that the seed decides.
    pub(super) fn sequence(faults: &[Self], seed: u64) -> impl Iterator<Item = Self> + use<> {
        let (faults, mut chance) = (faults.to_vec(), Chance::of(seed ^ 0x000f_a017));
        let mut round = Vec::new();
        std::iter::from_fn(move || {
            if round.is_empty() {
                round.clone_from(&faults);
            }
            let count = round.len() as u64;
            let place = usize::try_from(chance.below(count.max(1))).ok()?;
            (place < round.len()).then(|| round.swap_remove(place))
        })
    }
}
