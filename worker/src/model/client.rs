//! The HTTP clients that all models share.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use tracing::warn;

use super::{ModelConfigError, ModelLimits};

const USER_AGENT: &str = concat!("legwork/", env!("CARGO_PKG_VERSION"));

/// One pool of connections for the world and one for this machine, each made when the first model needs it.
#[derive(Debug)]
pub(crate) struct HttpClients {
    limits: ModelLimits,
    remote: Option<Client>,
    local: Option<Client>,
}

impl HttpClients {
    /// No pool yet.
    pub(crate) fn new(limits: ModelLimits) -> Self {
        Self {
            limits,
            remote: None,
            local: None,
        }
    }

    /// The client that reaches `url`; touches no network.
    ///
    /// On a system without certificates it is made all the same; calls over https then fail and say why.
    pub(crate) fn for_url(&mut self, url: &Url) -> Result<Client, ModelConfigError> {
        let (pool, make): (_, fn(&ModelLimits) -> reqwest::Result<Client>) = if is_local(url) {
            (&mut self.local, local)
        } else {
            (&mut self.remote, remote)
        };
        if let Some(client) = pool {
            return Ok(client.clone());
        }
        // Refused only if a provider is there already, and then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = make(&self.limits).map_err(|error| ModelConfigError::Tls(error.to_string()))?;
        Ok(pool.insert(client).clone())
    }
}

fn builder(limits: &ModelLimits) -> ClientBuilder {
    Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(Duration::from_millis(limits.connect_timeout_ms))
        // A redirect would carry the key and the prompt to a place that nobody configured.
        .redirect(Policy::none())
}

fn remote(limits: &ModelLimits) -> reqwest::Result<Client> {
    builder(limits).build().or_else(|error| {
        warn!("no certificates of this system could be loaded, so no https provider can be reached: {error}");
        builder(limits).tls_certs_only([]).build()
    })
}

/// Never through a proxy, whose loopback is another machine's; and without certificates, which plain http does not use
/// and which take a while to load.
fn local(limits: &ModelLimits) -> reqwest::Result<Client> {
    builder(limits).no_proxy().tls_certs_only([]).build()
}

/// Whether `url` is plain http on this machine.
fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or("");
    let ip = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    url.scheme() == "http" && (host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_on_this_machine_is_local() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.0.0.2/", true),
            ("http://[::1]:1/", true),
            ("https://127.0.0.1/", false),
            ("http://10.0.0.1/", false),
            ("http://localhost.example/", false),
        ] {
            assert_eq!(is_local(&Url::parse(url).expect("a URL")), expected, "{url}");
        }
    }

    #[test]
    fn each_pool_is_made_once() {
        let mut clients = HttpClients::new(ModelLimits::default());
        for url in ["http://127.0.0.1/", "https://api.example/"] {
            clients.for_url(&Url::parse(url).expect("a URL")).expect("a client");
        }
        assert!(clients.local.is_some() && clients.remote.is_some());
    }
}
