//! The HTTP clients that all models share.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};
use tracing::warn;

use super::{ModelConfigError, ModelLimits};

const USER_AGENT: &str = concat!("legwork/", env!("CARGO_PKG_VERSION"));

/// One pool of connections for the world and one for this machine.
#[derive(Debug, Clone)]
pub(crate) struct HttpClients {
    remote: Client,
    /// Never through a proxy: a proxy's loopback is another machine's.
    local: Client,
}

impl HttpClients {
    /// Sets up TLS and both pools; touches no network.
    ///
    /// On a system without certificates it still succeeds, since a model on this machine needs none; calls to the
    /// world will then fail and say why.
    pub(crate) fn new(limits: &ModelLimits) -> Result<Self, ModelConfigError> {
        // Refused only if a provider is there already, and then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            remote: build(|| builder(limits))?,
            local: build(|| builder(limits).no_proxy())?,
        })
    }

    /// The client that reaches `url`.
    pub(crate) fn for_url(&self, url: &Url) -> Client {
        if is_loopback(url) {
            self.local.clone()
        } else {
            self.remote.clone()
        }
    }
}

fn builder(limits: &ModelLimits) -> ClientBuilder {
    Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(Duration::from_millis(limits.connect_timeout_ms))
        // A redirect would carry the key and the prompt to a place that nobody configured.
        .redirect(Policy::none())
}

fn build(builder: impl Fn() -> ClientBuilder) -> Result<Client, ModelConfigError> {
    builder().build().or_else(|error| {
        warn!("no certificates of this system could be loaded, so no https provider can be reached: {error}");
        builder()
            .tls_certs_only([])
            .build()
            .map_err(|error| ModelConfigError::Tls(error.to_string()))
    })
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or("");
    let ip = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<std::net::IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_reached_without_a_proxy() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.0.0.2/", true),
            ("http://[::1]:1/", true),
            ("http://10.0.0.1/", false),
            ("https://localhost.example/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).expect("a URL")), expected, "{url}");
        }
    }

    #[test]
    fn the_clients_are_built_without_certificates_too() {
        HttpClients::new(&ModelLimits::default()).expect("clients");
        let no_certificates = || builder(&ModelLimits::default()).tls_certs_only([]);
        build(no_certificates).expect("a client");
    }
}
