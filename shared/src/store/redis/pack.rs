//! The `MessagePack` that scripts and client speak: numbers, texts and bytes in lists, and nothing else.
//!
//! Bytes travel as strings: the server's unpacker knows no other kind, and Lua's strings hold any byte.

use std::io::Cursor;

use rmp::{decode, encode};

use crate::store::StoreError;
use crate::store::document::corrupt;
use crate::time::Timestamp;

/// The largest whole number that Lua's numbers hold exactly, and so the end of time in a record: 285,000 years ahead.
const EXACT_MAX: u64 = (1 << 53) - 1;

/// Packs values one behind the other.
#[derive(Default)]
pub(super) struct Packer(Vec<u8>);

impl Packer {
    /// Begins a list of `len` values, which are packed next.
    pub fn list(&mut self, len: usize) -> &mut Self {
        // Writing into memory does not fail; a list of four billion values fits no memory.
        let _ = encode::write_array_len(&mut self.0, u32::try_from(len).unwrap_or(u32::MAX));
        self
    }

    /// A whole number.
    pub fn int(&mut self, value: i64) -> &mut Self {
        let _ = encode::write_sint(&mut self.0, value);
        self
    }

    /// A whole number without a sign.
    pub fn uint(&mut self, value: u64) -> &mut Self {
        let _ = encode::write_uint(&mut self.0, value);
        self
    }

    /// A number that may be absent.
    pub fn maybe(&mut self, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.uint(value.min(EXACT_MAX)),
            None => self.int(-1),
        }
    }

    /// A moment.
    pub fn moment(&mut self, at: Timestamp) -> &mut Self {
        self.uint(at.0.min(EXACT_MAX))
    }

    /// Any bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let _ = encode::write_str_len(&mut self.0, len);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Values that were packed before.
    pub fn packed(&mut self, values: &[u8]) -> &mut Self {
        self.0.extend_from_slice(values);
        self
    }

    /// What was packed.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads packed values one behind the other.
pub(super) struct Unpacker<'a>(Cursor<&'a [u8]>);

fn unreadable(why: impl std::fmt::Display) -> StoreError {
    corrupt("a packed record", why)
}

impl<'a> Unpacker<'a> {
    /// A reader of `packed`.
    pub fn of(packed: &'a [u8]) -> Self {
        Self(Cursor::new(packed))
    }

    /// The length of the list that begins here; its values follow. An empty table of Lua may be a map of none.
    pub fn list(&mut self) -> Result<usize, StoreError> {
        let len = match decode::read_marker(&mut self.0).map_err(|error| unreadable(error.0))? {
            rmp::Marker::FixArray(len) => u32::from(len),
            rmp::Marker::Array16 => u32::from(u16::from_be_bytes(self.raw()?)),
            rmp::Marker::Array32 => u32::from_be_bytes(self.raw()?),
            rmp::Marker::FixMap(0) => 0,
            other => return Err(unreadable(format_args!("{other:?} where a list was expected"))),
        };
        Ok(usize::try_from(len).unwrap_or(usize::MAX))
    }

    fn raw<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let mut bytes = [0; N];
        std::io::Read::read_exact(&mut self.0, &mut bytes).map_err(unreadable)?;
        Ok(bytes)
    }

    /// Whether a list begins here.
    pub fn is_list(&self) -> bool {
        let byte = usize::try_from(self.0.position())
            .ok()
            .and_then(|at| self.0.get_ref().get(at));
        byte.is_some_and(|byte| {
            matches!(
                rmp::Marker::from_u8(*byte),
                rmp::Marker::FixArray(_) | rmp::Marker::Array16 | rmp::Marker::Array32
            )
        })
    }

    /// A whole number.
    pub fn int(&mut self) -> Result<i64, StoreError> {
        decode::read_int(&mut self.0).map_err(unreadable)
    }

    /// A whole number without a sign.
    pub fn uint(&mut self) -> Result<u64, StoreError> {
        decode::read_int(&mut self.0).map_err(unreadable)
    }

    /// A number of 32 bits without a sign.
    pub fn small(&mut self) -> Result<u32, StoreError> {
        decode::read_int(&mut self.0).map_err(unreadable)
    }

    /// A number that may be absent.
    pub fn maybe(&mut self) -> Result<Option<u64>, StoreError> {
        Ok(u64::try_from(self.int()?).ok())
    }

    /// A moment.
    pub fn moment(&mut self) -> Result<Timestamp, StoreError> {
        self.uint().map(moment)
    }

    /// Any bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8], StoreError> {
        let len = decode::read_str_len(&mut self.0).map_err(unreadable)?;
        let from = usize::try_from(self.0.position()).unwrap_or(usize::MAX);
        let until = from.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
        let all: &'a [u8] = self.0.get_ref();
        let bytes = all.get(from..until).ok_or_else(|| unreadable("it ends too early"))?;
        self.0.set_position(until as u64);
        Ok(bytes)
    }

    /// The sixteen bytes of an id; `None` where there is none.
    pub fn id(&mut self) -> Result<Option<[u8; 16]>, StoreError> {
        let bytes = self.bytes()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        id(bytes).map(Some)
    }

    /// A text.
    pub fn text(&mut self) -> Result<&'a str, StoreError> {
        std::str::from_utf8(self.bytes()?).map_err(unreadable)
    }
}

/// The moment of a packed number.
pub(super) fn moment(number: u64) -> Timestamp {
    if number >= EXACT_MAX {
        return Timestamp(u64::MAX);
    }
    Timestamp(number)
}

/// The sixteen bytes of an id.
pub(super) fn id(bytes: &[u8]) -> Result<[u8; 16], StoreError> {
    bytes
        .try_into()
        .map_err(|_| unreadable("an id that is not of sixteen bytes"))
}
