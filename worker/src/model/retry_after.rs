//! How long a provider asks us to wait.

use std::time::UNIX_EPOCH;

use legwork_shared::time::Timestamp;

/// The longest wait that a provider may ask of us. A header with a day in it is a mistake or a closed account; after
/// an hour one more try finds out which.
pub(crate) const RETRY_AFTER_MS_MAX: u64 = 3_600_000;

/// The wait that the headers `retry-after-ms` and `Retry-After` ask for at the moment `now`.
///
/// The first is exact and goes before the second, which is in seconds or an HTTP date; a date in the past is no wait.
pub(crate) fn retry_after_ms(exact_ms: Option<&str>, header: Option<&str>, now: Timestamp) -> Option<u64> {
    exact_ms
        .and_then(|text| millis(text, 1.0))
        .or_else(|| header.and_then(|text| millis(text, 1000.0).or_else(|| until_date(text, now))))
        .map(|ms| ms.min(RETRY_AFTER_MS_MAX))
}

/// A decimal number of units, as milliseconds.
fn millis(text: &str, unit_ms: f64) -> Option<u64> {
    let ms = text.trim().parse::<f64>().ok()? * unit_ms;
    if !ms.is_finite() || ms < 0.0 {
        return None;
    }
    // Rounded up, so that the wait is never shorter than asked; the bound also keeps the cast exact.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and an hour"
    )]
    let ms = ms.ceil().min(3_600_000.0) as u64;
    Some(ms)
}

fn until_date(text: &str, now: Timestamp) -> Option<u64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    let at_ms = date.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(Timestamp(u64::try_from(at_ms).unwrap_or(u64::MAX)).since_ms(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const NOW: Timestamp = Timestamp(784_111_777_000);

    #[test]
    fn both_headers_are_read_in_every_form_and_bounded() {
        let cases = [
            (None, None, None),
            (None, Some("7"), Some(7_000)),
            (None, Some(" 1.5 "), Some(1_500)),
            (None, Some("0"), Some(0)),
            (None, Some("Sun, 06 Nov 1994 08:49:42 GMT"), Some(5_000)),
            (None, Some("Sunday, 06-Nov-94 08:49:42 GMT"), Some(5_000)),
            (None, Some("Sun, 06 Nov 1994 08:49:30 GMT"), Some(0)),
            (None, Some("Mon, 07 Nov 1994 08:49:37 GMT"), Some(RETRY_AFTER_MS_MAX)),
            (None, Some("86400"), Some(RETRY_AFTER_MS_MAX)),
            (None, Some("1e300"), Some(RETRY_AFTER_MS_MAX)),
            (None, Some("-3"), None),
            (None, Some("NaN"), None),
            (None, Some("inf"), None),
            (None, Some("soon"), None),
            (None, Some(""), None),
            (Some("250"), Some("7"), Some(250)),
            (Some("250.2"), None, Some(251)),
            (Some("nonsense"), Some("7"), Some(7_000)),
        ];
        for (exact, header, expected) in cases {
            assert_eq!(retry_after_ms(exact, header, NOW), expected, "{exact:?} {header:?}");
        }
    }
}
