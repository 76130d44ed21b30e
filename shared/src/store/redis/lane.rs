//! Numbered calls: the server remembers the answer to the last call of each lane, so that a call whose answer was lost
//! can be made again without being done twice, and one that comes late is not done at all.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::link::Link;
use super::script::{Call, Script};
use crate::clock::entropy;
use crate::store::StoreError;

/// What a script says to a call that a later one has overtaken.
const LATE: &[u8] = b"late";

/// One line of calls to a shard, one after the other.
pub(super) struct Lane {
    link: Arc<Link>,
    tag: Vec<u8>,
    key: Vec<u8>,
    last: Mutex<u64>,
}

impl Lane {
    /// A lane that nobody has used.
    pub fn new(link: Arc<Link>, tag: &[u8]) -> Self {
        let mut key = tag.to_vec();
        key.extend_from_slice(b":i:");
        key.extend_from_slice(&entropy().to_be_bytes());
        Self {
            link,
            tag: tag.to_vec(),
            key,
            last: Mutex::new(0),
        }
    }

    /// Calls a script with the call's number and `arguments`, as often as it takes to get an answer.
    ///
    /// # Cancel safety
    /// The call may be done even if the future is dropped.
    pub async fn call(&self, script: &'static Script, arguments: Vec<Vec<u8>>) -> Result<Vec<u8>, StoreError> {
        let mut last = self.last.lock().await;
        *last += 1;
        let mut all = Vec::with_capacity(arguments.len() + 1);
        all.push(last.to_string().into_bytes());
        all.extend(arguments);
        let call = Call {
            script,
            keys: [&self.tag, &self.key],
            arguments: all,
        };
        let answer = self.link.numbered_script(&call).await?;
        if answer == LATE {
            return Err(StoreError::Unavailable {
                message: "a later call has overtaken this one, which was not done".to_owned(),
            });
        }
        Ok(answer)
    }
}
