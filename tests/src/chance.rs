//! Repeatable chance.

/// A sequence of numbers that its seed decides (`SplitMix64`; Steele, Lea, Flood, 2014).
pub struct Chance(u64);

impl Chance {
    /// The sequence of that seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A number of the other size below `end`.
    ///
    /// # Panics
    /// If `end` is zero.
    pub fn small(&mut self, end: u32) -> u32 {
        u32::try_from(self.below(u64::from(end))).expect("it is below a number of that size")
    }

    /// One of them, if there are any.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let count = from.len() as u64;
        let place = (count > 0).then(|| self.below(count))?;
        from.get(usize::try_from(place).ok()?)
    }
}
