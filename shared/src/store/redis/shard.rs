//! A part of the store that lives in one slot: all keys of a run stand in its shard.

use std::sync::Arc;

use redis::{Pipeline, Value};

use super::link::Link;
use super::pack::{Packer, Unpacker};
use super::script::{Call, LOOK};
use crate::store::StoreError;
use crate::store::document::corrupt;

/// A command, word by word.
pub(super) type Question = Vec<Vec<u8>>;

/// A shard, and the way to it.
#[derive(Clone)]
pub(super) struct Shard {
    pub link: Arc<Link>,
    /// What each of its keys begins with. The part in braces decides the slot.
    pub tag: Arc<[u8]>,
}

impl Shard {
    /// The shard of that number.
    pub fn of(link: &Arc<Link>, number: usize) -> Self {
        let tag = format!("{}:{number}", link.address().prefix);
        Self {
            link: link.for_tag(&tag),
            tag: format!("{{{tag}}}").into_bytes().into(),
        }
    }

    /// The key of a kind, and of what it is about.
    pub fn key(&self, kind: &str, about: &[u8]) -> Vec<u8> {
        let mut key = self.tag.to_vec();
        key.push(b':');
        key.extend_from_slice(kind.as_bytes());
        key.push(b':');
        key.extend_from_slice(about);
        key
    }

    /// The key of a kind of which there is one.
    pub fn one(&self, kind: &str) -> Vec<u8> {
        let mut key = self.tag.to_vec();
        key.push(b':');
        key.extend_from_slice(kind.as_bytes());
        key
    }

    /// What the server answers to several commands.
    pub async fn ask(&self, pipeline: &Pipeline) -> Result<Vec<Value>, StoreError> {
        self.link.pipeline(pipeline).await
    }

    /// What the server answers to several questions as of one moment: to each, a list of bytes.
    pub async fn look(&self, questions: &[Question]) -> Result<Vec<Vec<Vec<u8>>>, StoreError> {
        let mut packer = Packer::default();
        packer.list(questions.len());
        for question in questions {
            packer.list(question.len());
            for word in question {
                packer.bytes(word);
            }
        }
        let call = Call {
            script: &LOOK,
            // It changes nothing, so that it needs no lane.
            keys: [&self.tag, &self.tag],
            arguments: vec![packer.into_bytes()],
        };
        let answer = self.link.script(&call).await?;
        let mut from = Unpacker::of(&answer);
        let answers = (0..from.list()?).map(|_| {
            let values = (0..from.list()?).map(|_| Ok(from.bytes()?.to_vec()));
            values.collect::<Result<_, StoreError>>()
        });
        let answers: Vec<Vec<Vec<u8>>> = answers.collect::<Result<_, _>>()?;
        if answers.len() != questions.len() {
            return Err(corrupt("an answer of the server", "one is missing"));
        }
        Ok(answers)
    }
}

/// The bytes of an answer; `None` where there is nothing.
pub(super) fn bytes(value: Value) -> Result<Option<Vec<u8>>, StoreError> {
    match value {
        Value::Nil => Ok(None),
        Value::BulkString(bytes) => Ok(Some(bytes)),
        Value::SimpleString(text) => Ok(Some(text.into_bytes())),
        other => Err(unexpected(&other)),
    }
}

/// The values of an answer that is a list, a set, or a map.
pub(super) fn list(value: Value) -> Result<Vec<Value>, StoreError> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::Array(values) | Value::Set(values) => Ok(values),
        Value::Map(pairs) => Ok(pairs.into_iter().flat_map(|(name, value)| [name, value]).collect()),
        other => Err(unexpected(&other)),
    }
}

/// The answers that are bytes, in a list.
pub(super) fn all_bytes(value: Value) -> Result<Vec<Vec<u8>>, StoreError> {
    let values = list(value)?.into_iter().map(bytes);
    values
        .map(|bytes| bytes?.ok_or_else(|| corrupt("an answer", "nothing where something was expected")))
        .collect()
}

fn unexpected(value: &Value) -> StoreError {
    corrupt("an answer of the server", format_args!("{value:?}"))
}
