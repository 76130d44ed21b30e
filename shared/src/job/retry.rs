//! When a failed attempt is followed by the next one.

/// The first back-off is at most this long: most overloads are over within it.
const BASE_MS: u64 = 1_000;
/// No back-off of ours is longer: a person still sees the job move.
const CAP_MS: u64 = 5 * 60 * 1_000;
/// A provider may ask for at most this: a longer wait is a failure that a person should see.
pub const RETRY_AFTER_MAX_MS: u64 = 60 * 60 * 1_000;

/// The wait before the attempt that follows the `failures`th failure, in milliseconds.
///
/// Exponential with full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015), seeded so that it can
/// be replayed. A provider's `retry_after_ms` is a floor: asking earlier would only be refused again.
#[must_use]
pub fn delay_ms(failures: u32, retry_after_ms: Option<u64>, seed: u64) -> u64 {
    let ceiling_ms = BASE_MS
        .saturating_mul(1 << failures.saturating_sub(1).min(20))
        .min(CAP_MS);
    let jittered_ms = mix(seed ^ u64::from(failures)) % ceiling_ms + 1;
    match retry_after_ms {
        // A little jitter on top, so that a crowd told the same moment does not come back in the same millisecond.
        Some(floor_ms) => floor_ms.min(RETRY_AFTER_MAX_MS) + jittered_ms / 10,
        None => jittered_ms,
    }
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", 2014).
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_is_bounded_and_repeatable() {
        for failures in 1..200 {
            let wait = delay_ms(failures, None, 42);
            assert_eq!(wait, delay_ms(failures, None, 42));
            assert!((1..=CAP_MS).contains(&wait));
        }
    }

    #[test]
    fn a_provider_is_never_asked_before_it_said() {
        for seed in 0..100 {
            assert!((7_000..7_200).contains(&delay_ms(1, Some(7_000), seed)));
        }
        assert!(delay_ms(1, Some(u64::MAX), 1) <= RETRY_AFTER_MAX_MS + 100);
    }

    #[test]
    fn jobs_that_fail_together_spread_out() {
        let waits: std::collections::BTreeSet<u64> = (0..100).map(|seed| delay_ms(3, None, seed)).collect();
        assert!(waits.len() > 90, "{} different waits", waits.len());
    }
}
