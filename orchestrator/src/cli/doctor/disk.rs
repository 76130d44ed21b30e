//! The disk under the store: whether it can be written, how fast, and how much room is left.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use legwork_shared::clock::{Clock as _, SystemClock};

use super::Finding;
use crate::cli::base::Context;
use crate::output::human;

/// Below this a busy day of runs may not fit.
const ROOM_LOW_BYTES: u64 = 1024 * 1024 * 1024;
/// Below this the next run may not fit.
const ROOM_OUT_BYTES: u64 = 64 * 1024 * 1024;
/// Writes that are timed: enough that one slow one does not decide.
const SYNCS: u64 = 8;
/// Each commit waits for the disk this long; beyond it many small jobs are noticeably slow.
const SYNC_SLOW_MS: u64 = 50;

/// Looks at the folder of the store, or of the artifacts if the store is on a server.
pub fn look(context: &Context) -> Vec<Finding> {
    let artifacts = context.artifacts_folder();
    let folder = artifacts.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.exists() {
        return vec![Finding::fine(
            "disk",
            format!("{} is made with the first run", folder.display()),
        )];
    }
    vec![room(folder), speed(folder)]
}

fn room(folder: &Path) -> Finding {
    let free = match rustix::fs::statvfs(folder) {
        Ok(volume) => volume.f_bavail.saturating_mul(volume.f_frsize),
        Err(error) => return Finding::warning("disk", format!("its room cannot be told: {error}"), "look with `df`"),
    };
    let detail = format!("{} are free in {}", human::bytes(free), folder.display());
    match free {
        ..ROOM_OUT_BYTES => Finding::problem("disk", detail, "make room, or choose another --store"),
        ROOM_OUT_BYTES..ROOM_LOW_BYTES => Finding::warning("disk", detail, "make room soon"),
        ROOM_LOW_BYTES.. => Finding::fine("disk", detail),
    }
}

fn speed(folder: &Path) -> Finding {
    match sync_time_ms(folder) {
        Err(error) => {
            let detail = format!("{} cannot be written: {error}", folder.display());
            Finding::problem("disk", detail, "give yourself write access, or choose another --store")
        }
        Ok(ms) if ms > SYNC_SLOW_MS => {
            let detail = format!("a commit waits {} for the disk", human::duration(ms));
            Finding::warning(
                "disk",
                detail,
                "put the store on a local disk; network shares are not supported",
            )
        }
        Ok(ms) => Finding::fine("disk", format!("a commit waits about {} for it", human::duration(ms))),
    }
}

/// How long a small write takes until it is safe, on average.
fn sync_time_ms(folder: &Path) -> io::Result<u64> {
    let path = folder.join(format!(".legwork-doctor.{}", std::process::id()));
    let timed = File::create(&path).and_then(|mut file| {
        let start = SystemClock.now();
        for _ in 0..SYNCS {
            file.write_all(&[0; 4096])?;
            file.sync_data()?;
        }
        Ok(SystemClock.now().since_ms(start) / SYNCS)
    });
    if path.exists() {
        fs::remove_file(&path)?;
    }
    timed
}
