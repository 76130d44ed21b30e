//! Media types by name and content.

use super::VPath;

/// How much of a file is looked at to tell text from bytes: what common tools look at.
const SNIFFED_BYTES: usize = 8 * 1024;

/// Names the media type of a file: by its extension, else `text/plain` or `application/octet-stream` by its bytes.
#[must_use]
pub fn guess(path: &VPath, bytes: &[u8]) -> &'static str {
    let extension = path
        .name()
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase());
    match extension.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("txt" | "log") => "text/plain",
        Some("html" | "htm") => "text/html",
        Some("css") => "text/css",
        Some("csv") => "text/csv",
        Some("tsv") => "text/tab-separated-values",
        Some("xml") => "application/xml",
        Some("json") => "application/json",
        Some("jsonl" | "ndjson") => "application/x-ndjson",
        Some("yaml" | "yml") => "application/yaml",
        Some("toml") => "application/toml",
        Some("pdf") => "application/pdf",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("svg") => "image/svg+xml",
        Some("zip") => "application/zip",
        Some("gz") => "application/gzip",
        _ if is_binary(bytes) => "application/octet-stream",
        _ => "text/plain",
    }
}

/// Whether bytes are something else than text: a NUL near their start is what text never has.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(SNIFFED_BYTES)].contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_decides_and_else_the_content() {
        let guessed = |path: &str, bytes: &[u8]| guess(&VPath::parse(path).unwrap(), bytes);
        assert_eq!(guessed("a/REPORT.MD", b""), "text/markdown");
        assert_eq!(guessed("data.json", b"\0"), "application/json");
        assert_eq!(guessed("Makefile", b"all:"), "text/plain");
        assert_eq!(guessed("core", b"\x7fELF\0"), "application/octet-stream");
        assert_eq!(guessed("a.b/c", b"caf\xe9"), "text/plain");
    }
}
