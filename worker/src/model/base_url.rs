//! Base URLs as people write them.

use reqwest::Url;

/// The host of OpenAI itself.
pub(crate) const OPENAI_HOST: &str = "api.openai.com";
pub(crate) const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";
pub(crate) const ANTHROPIC_BASE_URL: &str = "https://api.anthropic.com";
pub(crate) const OLLAMA_BASE_URL: &str = "http://127.0.0.1:11434";
const OLLAMA_PORT: u16 = 11434;

/// Reads a base URL: http or https, with or without a slash at its end.
///
/// # Errors
/// Why `text` is none, in words that may follow the variable's name.
pub(crate) fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{}` is neither http nor https", url.scheme()));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("no host".to_owned());
    }
    Ok(url)
}

/// Reads `OLLAMA_HOST`, which is also what the server listens on: a host, a port, both, or a URL.
pub(crate) fn parse_ollama_host(text: &str) -> Result<Url, String> {
    let text = text.trim();
    let with_host = if text.starts_with(':') {
        format!("127.0.0.1{text}")
    } else {
        text.to_owned()
    };
    let has_scheme = with_host.contains("://");
    let mut url = parse(&if has_scheme {
        with_host
    } else {
        format!("http://{with_host}")
    })?;
    if !has_scheme && url.port().is_none() {
        // Cannot fail: the URL has a host.
        let _ = url.set_port(Some(OLLAMA_PORT));
    }
    // "Listen on every address" is no address to call.
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        url.set_host(Some("127.0.0.1")).map_err(|error| error.to_string())?;
    }
    Ok(url)
}

/// Where chat completions are asked for: a missing `/v1` is added, and the full address is taken too.
pub(crate) fn openai_endpoint(base: &Url) -> Url {
    let path = base.path().trim_end_matches('/').trim_end_matches("/chat/completions");
    let path = if path.is_empty() { "/v1" } else { path };
    with_path(base, &format!("{path}/chat/completions"))
}

/// Where messages are asked for: with or without `/v1`, and the full address is taken too.
pub(crate) fn anthropic_endpoint(base: &Url) -> Url {
    let path = base
        .path()
        .trim_end_matches('/')
        .trim_end_matches("/messages")
        .trim_end_matches("/v1");
    with_path(base, &format!("{path}/v1/messages"))
}

fn with_path(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openai_base_urls_are_taken_in_every_usual_form() {
        for (base, expected) in [
            (
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
            ),
            ("https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
            (
                " http://127.0.0.1:8000/v1/\n",
                "http://127.0.0.1:8000/v1/chat/completions",
            ),
            ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1/chat/completions"),
            (
                "https://api.example/openai/v1",
                "https://api.example/openai/v1/chat/completions",
            ),
            (
                "https://api.example/v1/chat/completions",
                "https://api.example/v1/chat/completions",
            ),
            (
                "https://api.example/v1?version=2",
                "https://api.example/v1/chat/completions?version=2",
            ),
        ] {
            assert_eq!(
                openai_endpoint(&parse(base).expect("a URL")).as_str(),
                expected,
                "{base}"
            );
        }
    }

    #[test]
    fn anthropic_base_urls_are_taken_in_every_usual_form() {
        for (base, expected) in [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
            (
                "https://api.anthropic.com/v1/messages",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "https://gateway.example/anthropic",
                "https://gateway.example/anthropic/v1/messages",
            ),
        ] {
            assert_eq!(
                anthropic_endpoint(&parse(base).expect("a URL")).as_str(),
                expected,
                "{base}"
            );
        }
    }

    #[test]
    fn an_ollama_host_is_taken_as_its_server_takes_it() {
        for (host, expected) in [
            ("127.0.0.1", "http://127.0.0.1:11434/"),
            ("0.0.0.0:9", "http://127.0.0.1:9/"),
            (":9", "http://127.0.0.1:9/"),
            ("box:9", "http://box:9/"),
            ("https://ollama.example", "https://ollama.example/"),
        ] {
            assert_eq!(
                parse_ollama_host(host).map(String::from),
                Ok(expected.to_owned()),
                "{host}"
            );
        }
    }

    #[test]
    fn what_is_no_base_url_is_refused() {
        assert_eq!(parse("ftp://x/"), Err("`ftp` is neither http nor https".to_owned()));
        assert_eq!(parse("api.openai.com"), Err("relative URL without a base".to_owned()));
        assert!(parse("").is_err());
        assert!(parse_ollama_host("not a host").is_err());
    }
}
