//! Ending a program together with all that it has started.
//!
//! A process belongs to the tree if it is in the program's process group, descends from the program, or carries the
//! program's mark in its environment. The mark finds those that left the group with `setsid` after their parent had
//! ended. What clears its environment, leaves the group and outlives its parent is not found; a sandbox with a process
//! namespace is needed for that.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The variable that marks all processes of one program.
pub const MARK: &str = "LEGWORK_PROCESS";
/// How often the processes are looked through again for what was started meanwhile. Each round leaves fewer that
/// could start something.
const ROUNDS_MAX: usize = 10;

/// All processes of one program.
#[derive(Debug, Clone)]
pub struct Tree {
    leader: Pid,
    mark: String,
}

impl Tree {
    /// The tree of the process group that `leader` leads and whose environment has [`MARK`] set to `mark`.
    pub fn new(leader: Pid, mark: &str) -> Self {
        Self {
            leader,
            mark: format!("{MARK}={mark}"),
        }
    }

    /// Asks all of them to end.
    pub fn terminate(&self) {
        self.send(&self.members(), Signal::TERM);
    }

    /// Ends all of them.
    ///
    /// Blocks for the time of a few looks through the table of processes.
    pub fn kill(&self) {
        for _ in 0..ROUNDS_MAX {
            let members = self.members();
            self.send(&members, Signal::KILL);
            if members.is_empty() {
                return;
            }
        }
    }

    fn send(&self, members: &BTreeSet<i32>, signal: Signal) {
        // Who has ended meanwhile cannot be signalled, and that is what was wanted.
        let _ = kill_process_group(self.leader, signal);
        for pid in members.iter().filter_map(|pid| Pid::from_raw(*pid)) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Those that are alive. Without a table of processes in `/proc` there is only the group.
    fn members(&self) -> BTreeSet<i32> {
        let table = table();
        let leader = self.leader.as_raw_nonzero().get();
        let mut members: BTreeSet<i32> = table
            .iter()
            .filter(|(pid, row)| **pid == leader || row.group == leader || self.is_marked(**pid))
            .map(|(pid, _)| *pid)
            .collect();
        loop {
            let before = members.len();
            let descends = |row: &Row| members.contains(&row.parent);
            let found: Vec<i32> = table
                .iter()
                .filter(|(_, row)| descends(row))
                .map(|(pid, _)| *pid)
                .collect();
            members.extend(found);
            if members.len() == before {
                return members;
            }
        }
    }

    fn is_marked(&self, pid: i32) -> bool {
        // Who may not be looked at is not ours.
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
            environment
                .split(|byte| *byte == 0)
                .any(|entry| entry == self.mark.as_bytes())
        })
    }
}

/// What the table of processes says of one that is alive.
struct Row {
    parent: i32,
    group: i32,
}

fn table() -> BTreeMap<i32, Row> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own)
        .filter_map(|pid| Some((pid, row(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)))
        .collect()
}

/// Reads `pid (name) state parent group …`; the name may hold anything, parentheses too. Zombies have ended.
fn row(stat: &str) -> Option<Row> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Row { parent, group })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let found = row("12 (a) Z (b)) S 7 9 9 0 -1").map(|row| (row.parent, row.group));
        assert_eq!(found, Some((7, 9)));
        assert!(row("12 (sh) Z 7 9 9").is_none(), "a zombie has ended");
        assert!(row("").is_none());
    }
}
