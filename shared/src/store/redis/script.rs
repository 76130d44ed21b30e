//! The scripts of this engine, which stand in `shared/lua`, and how they are called.

use std::sync::LazyLock;

use redis::{Cmd, cmd};

/// How long the server remembers a lane after its last call, as `record.lua` has it.
const LANE_MS: u64 = 3_600_000;

/// A script.
pub(super) struct Script {
    text: &'static str,
    known: LazyLock<redis::Script>,
}

/// The script of that file, with what all of them share in front.
macro_rules! script {
    ($name:literal) => {{
        const TEXT: &str = concat!(
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/lua/record.lua")),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/lua/", $name, ".lua"))
        );
        Script {
            text: TEXT,
            known: LazyLock::new(|| redis::Script::new(TEXT)),
        }
    }};
}

/// Writes batches.
pub(super) static COMMIT: Script = script!("commit");
/// Takes jobs.
pub(super) static CLAIM: Script = script!("claim");
/// Extends leases.
pub(super) static EXTEND: Script = script!("extend");
/// Asks for the lead of maintenance.
pub(super) static LEAD: Script = script!("lead");
/// Pauses a queue or a run, or ends its pause.
pub(super) static PAUSE: Script = script!("pause");
/// Records or forgets a schedule.
pub(super) static SCHEDULE: Script = script!("schedule");
/// Deletes an ended run.
pub(super) static PRUNE: Script = script!("prune");
/// Answers several questions as of one moment.
pub(super) static LOOK: Script = script!("look");

/// A script with what it is called with.
pub(super) struct Call<'a> {
    pub script: &'static Script,
    /// The hash tag of the shard, and the lane of the caller.
    pub keys: [&'a [u8]; 2],
    pub arguments: Vec<Vec<u8>>,
}

impl Call<'_> {
    /// The call of a script that the server knows.
    pub fn by_hash(&self) -> Cmd {
        self.command("EVALSHA", self.script.known.get_hash())
    }

    /// The call that makes the script known.
    pub fn with_text(&self) -> Cmd {
        self.command("EVAL", self.script.text)
    }

    /// A write to the caller's lane that changes nothing but for how long it is remembered; see `LANE_MS` in `record.lua`.
    pub fn touch(&self) -> Cmd {
        let mut command = cmd("PEXPIRE");
        command.arg(self.keys[1]).arg(LANE_MS);
        command
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = cmd(name);
        command.arg(script).arg(self.keys.len());
        for key in self.keys {
            command.arg(key);
        }
        for argument in &self.arguments {
            command.arg(argument.as_slice());
        }
        command
    }
}
