//! What the system says of a process.

use anyhow::{Context, Result};
use rustix::process::Pid;

/// The memory that a process holds now, in megabytes (10^6 bytes).
pub fn memory_mb(pid: Pid) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes: f64 = kibibytes.context("the status has no VmRSS")?.parse()?;
    Ok(kibibytes * 1024.0 / 1e6)
}

/// The processor time that a process has used so far, in seconds, to a hundredth.
pub fn cpu_seconds(pid: Pid) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))?;
    // The name, in parentheses, may hold blanks; user and system time are the 12th and 13th field after it.
    let (_, fields) = stat.rsplit_once(") ").context("the stat has no name")?;
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks = ticks.map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    let [user, system] = ticks[..] else {
        anyhow::bail!("the stat has no times");
    };
    Ok((user + system) / f64::from(u32::try_from(rustix::param::clock_ticks_per_second())?))
}
