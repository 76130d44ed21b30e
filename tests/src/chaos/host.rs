//! Another host: a network of its own that a wire leads to, and that can be cut off.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use anyhow::{Result, ensure};

/// A network namespace with a pair of virtual interfaces; both go when it is dropped.
pub struct Host {
    name: String,
    wire: String,
    here: Ipv4Addr,
}

impl Host {
    /// Makes one.
    ///
    /// # Errors
    /// This process may not.
    pub fn make() -> Result<Self> {
        let number = std::process::id();
        let [_, _, third, fourth] = (number << 2).to_be_bytes();
        let at = |last: u8| Ipv4Addr::new(10, 231, third, fourth | last);
        let (here, there) = (at(1), at(2));
        let host = Self {
            name: format!("legwork-{number}"),
            wire: format!("lw{number}a"),
            here,
        };
        let (name, wire, end) = (host.name.as_str(), host.wire.as_str(), format!("lw{number}b"));
        ip(&["netns", "add", name])?;
        ip(&["link", "add", wire, "type", "veth", "peer", "name", &end, "netns", name])?;
        ip(&["address", "add", &format!("{here}/30"), "dev", wire])?;
        ip(&["link", "set", wire, "up"])?;
        ip(&["-n", name, "address", "add", &format!("{there}/30"), "dev", &end])?;
        ip(&["-n", name, "link", "set", &end, "up"])?;
        Ok(host)
    }

    /// How this host is reached from there.
    pub fn address(&self) -> IpAddr {
        IpAddr::V4(self.here)
    }

    /// What starts a program there: the words before its own.
    pub fn entry(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.name]
    }

    /// Cuts the wire: whatever is sent is gone, and nobody is told.
    ///
    /// # Errors
    /// What the system says.
    pub fn cut(&self) -> Result<()> {
        ip(&["link", "set", &self.wire, "down"])
    }

    /// Mends the wire.
    ///
    /// # Errors
    /// What the system says.
    pub fn mend(&self) -> Result<()> {
        ip(&["link", "set", &self.wire, "up"])
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // What was never made is not there to be taken away.
        let _ = ip(&["link", "delete", &self.wire]);
        let _ = ip(&["netns", "delete", &self.name]);
    }
}

fn ip(arguments: &[&str]) -> Result<()> {
    let output = Command::new("ip").args(arguments).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ip {}: {}", arguments.join(" "), said.trim());
    Ok(())
}
