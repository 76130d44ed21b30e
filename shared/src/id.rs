//! Typed, prefixed identifiers that sort by the moment of their creation.
//!
//! The text form follows the `TypeID` specification: a prefix, an underscore, and a UUID of version 7
//! in 26 characters of Crockford's base 32, lower case.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

use crate::time::Timestamp;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 26 characters of 5 bits hold the 128 bits of a UUID; the first one is at most `7`.
const ENCODED_LEN: usize = 26;
/// The text of the lowest bits and of the highest.
const LOWEST: &str = "00000000000000000000000000";
const HIGHEST: &str = "7zzzzzzzzzzzzzzzzzzzzzzzzz";

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind} id: it should be `{prefix}_` and 26 letters and digits")]
pub struct IdError {
    /// What was given, cut to a printable length.
    pub text: String,
    /// The wanted kind, as a person names it.
    pub kind: &'static str,
    /// The wanted prefix.
    pub prefix: &'static str,
}

fn encode(uuid: Uuid) -> String {
    let bits = uuid.as_u128();
    (0..ENCODED_LEN)
        .rev()
        .map(|place| char::from(ALPHABET[usize::try_from(bits >> (place * 5) & 31).unwrap_or(0)]))
        .collect()
}

fn decode(text: &str) -> Option<Uuid> {
    if text.len() != ENCODED_LEN || text.as_bytes()[0] > b'7' {
        return None;
    }
    let mut bits = 0_u128;
    for byte in text.bytes() {
        let digit = ALPHABET.iter().position(|letter| *letter == byte)?;
        bits = bits << 5 | digit as u128;
    }
    Some(Uuid::from_u128(bits))
}

/// A version 7 UUID from its parts: `index` orders ids made in the same millisecond by one caller.
fn compose(now: Timestamp, index: u32, entropy: u128) -> Uuid {
    let mut tail = [0_u8; 10];
    tail.copy_from_slice(&entropy.to_be_bytes()[..10]);
    // The first bytes of the tail sort right behind the time: 12 bits of `rand_a` and 20 of `rand_b`.
    let index = index.to_be_bytes();
    tail[0] = index[0] & 0x0f;
    tail[1] = index[1];
    tail[2] = index[2] >> 2;
    tail[3] = index[2] << 6 | index[3] >> 2;
    tail[4] = index[3] << 6 | tail[4] & 0x3f;
    uuid::Builder::from_unix_timestamp_millis(now.0, &tail).into_uuid()
}

macro_rules! typed_id {
    ($name:ident, $prefix:literal, $kind:literal) => {
        #[doc = concat!("The id of a ", $kind, ": `", $prefix, "_…`.")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// What its text begins with, without the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// The id made at `now` from `entropy`.
            #[must_use]
            pub fn new(now: Timestamp, entropy: u128) -> Self {
                Self::nth(now, 0, entropy)
            }

            /// The `index`th id of one batch made at `now`; ids of a batch sort by `index`.
            #[must_use]
            pub fn nth(now: Timestamp, index: u32, entropy: u128) -> Self {
                Self(compose(now, index, entropy))
            }

            /// A number that seeds what must differ from id to id and be repeatable.
            #[must_use]
            pub fn seed(self) -> u64 {
                let (high, low) = self.0.as_u64_pair();
                high ^ low
            }

            /// The sixteen bytes of the id.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// The byte that says in which shard of a store the record stands; see [`Self::with_slot`].
            #[must_use]
            pub fn slot(&self) -> u8 {
                self.as_bytes()[15]
            }

            /// The same id in another slot. A job has the slot of its run, and a run that is submitted under a key that of
            /// its key: so all that one commit touches stands in one shard, and each id says where its record is.
            #[must_use]
            pub fn with_slot(self, slot: u8) -> Self {
                let mut bytes = *self.as_bytes();
                bytes[15] = slot;
                Self::from_bytes(bytes)
            }

            /// The lowest and the highest id whose text begins with `prefix`, if an id can.
            #[must_use]
            pub fn range_of(prefix: &str) -> Option<(Self, Self)> {
                // Where the prefix ends inside the kind, all ids begin with it.
                let filled = |lowest_or_highest: &str| {
                    let whole = format!("{}_{lowest_or_highest}", $prefix);
                    format!("{prefix}{}", whole.get(prefix.len()..)?).parse().ok()
                };
                Some((filled(LOWEST)?, filled(HIGHEST)?))
            }

            /// The id of sixteen bytes that [`Self::as_bytes`] gave.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", $prefix, encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix(concat!($prefix, "_"))
                    .and_then(decode)
                    .map(Self)
                    .ok_or_else(|| IdError {
                        text: text.chars().take(64).collect(),
                        kind: $kind,
                        prefix: $prefix,
                    })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(de::Error::custom)
            }
        }
    };
}

typed_id!(RunId, "run", "run");
typed_id!(JobId, "job", "job");
typed_id!(WorkerId, "wrk", "worker");
typed_id!(UpdateId, "upd", "update");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_round_trips() {
        let id = JobId::new(Timestamp(1_700_000_000_123), u128::MAX);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(id.to_string().len(), "job_".len() + ENCODED_LEN);
    }

    #[test]
    fn ids_of_one_batch_sort_by_index() {
        let ids: Vec<String> = (0..20_000)
            .map(|n| JobId::nth(Timestamp(5), n, u128::MAX / 3).to_string())
            .collect();
        assert!(ids.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn an_id_moves_to_another_slot_and_stays_in_its_order() {
        let ids = [1, 2].map(|index| JobId::nth(Timestamp(5), index, u128::MAX).with_slot(7));
        assert_eq!(ids.map(|id| id.slot()), [7, 7]);
        assert!(ids[0] < ids[1]);
        assert_eq!(ids[0].with_slot(9).with_slot(7), ids[0]);
    }

    #[test]
    fn a_prefix_stands_for_a_range_of_ids() {
        let id = JobId::new(Timestamp(1_700_000_000_123), 77);
        let text = id.to_string();
        for end in [0, 2, 4, 5, 12, text.len()] {
            let (low, high) = JobId::range_of(&text[..end]).expect("ids begin so");
            assert!(low <= id && id <= high, "{end}");
        }
        assert_eq!(JobId::range_of(&text), Some((id, id)));
        assert_eq!(JobId::range_of("run_"), None);
        assert_eq!(JobId::range_of("job_u"), None, "no digit");
        assert_eq!(JobId::range_of(&format!("{text}0")), None);
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let run = RunId::new(Timestamp(1), 7).to_string();
        assert_eq!(run.parse::<JobId>().map_err(|e| e.prefix), Err("job"));
        assert!(
            "job_zzzzzzzzzzzzzzzzzzzzzzzzzz".parse::<JobId>().is_err(),
            "130 bits do not fit"
        );
        assert!("job_é".parse::<JobId>().is_err());
    }
}
