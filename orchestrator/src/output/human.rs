//! Durations, sizes, amounts and moments in words that are read at a glance.

use chrono::{DateTime, TimeZone};
use legwork_shared::time::Timestamp;

/// A span in two units at most: `850 ms`, `4.2 s`, `1m 12s`, `2h 05m`, `3d 4h`.
#[must_use]
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms} ms"),
        1..10 => format!("{seconds}.{} s", ms % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A count in three digits or so: `812`, `12.3k`, `1.2M`.
#[must_use]
pub fn count(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..100_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        100_000..1_000_000 => format!("{}k", n / 1_000),
        1_000_000..100_000_000 => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
        _ => format!("{}M", n / 1_000_000),
    }
}

/// Tokens: `1 token`, `12.3k tokens`.
#[must_use]
pub fn tokens(n: u64) -> String {
    counted(n, "token")
}

/// A count with its noun: `1 job`, `3 jobs`.
#[must_use]
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A price: `$12.30`, `$0.041`, `$0.000120`; small amounts keep digits that say something.
#[must_use]
pub fn money(micro_usd: u64) -> String {
    let (whole, fraction) = (micro_usd / 1_000_000, micro_usd % 1_000_000);
    match micro_usd {
        0 => "$0".into(),
        1..1_000 => format!("$0.{fraction:06}"),
        1_000..1_000_000 => format!("$0.{:03}", fraction / 1_000),
        _ => format!("${whole}.{:02}", fraction / 10_000),
    }
}

/// A size: `812 B`, `12.3 KiB`, `1.2 GiB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1_024 {
        return format!("{n} B");
    }
    let mut tenths = u128::from(n) * 10 / 1_024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// How long ago: `3m 02s ago`.
#[must_use]
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{} ago", duration(now.since_ms(at)))
}

/// The time of day in `zone`: `19:50:12`.
#[must_use]
pub fn clock_time<Z: TimeZone>(at: Timestamp, zone: &Z) -> String {
    match moment(at, zone) {
        Some(moment) => moment.naive_local().format("%H:%M:%S").to_string(),
        None => at.0.to_string(),
    }
}

/// The day and time in `zone`: `2026-11-30 19:50`.
#[must_use]
pub fn day_time<Z: TimeZone>(at: Timestamp, zone: &Z) -> String {
    match moment(at, zone) {
        Some(moment) => moment.naive_local().format("%Y-%m-%d %H:%M").to_string(),
        None => at.0.to_string(),
    }
}

fn moment<Z: TimeZone>(at: Timestamp, zone: &Z) -> Option<DateTime<Z>> {
    zone.timestamp_millis_opt(i64::try_from(at.0).ok()?).single()
}

/// The first line that says something, cut to `chars_max` characters.
#[must_use]
pub fn first_line(text: &str, chars_max: usize) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    cut(line, chars_max)
}

/// A text cut to `chars_max` characters, with a mark where it was cut.
#[must_use]
pub fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Names as a list that stays short: `a, b, c and 4 more`.
#[must_use]
pub fn some_names(names: &[&str], shown_max: usize) -> String {
    let shown = names.iter().take(shown_max).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(shown_max) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::*;

    #[test]
    fn spans_have_at_most_two_units() {
        let cases = [
            (0, "0 ms"),
            (999, "999 ms"),
            (4_260, "4.2 s"),
            (59_999, "59 s"),
            (72_000, "1m 12s"),
            (7_500_000, "2h 05m"),
            (273_600_000, "3d 4h"),
        ];
        for (ms, text) in cases {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn counts_and_amounts_keep_the_digits_that_matter() {
        assert_eq!(
            [999, 12_345, 123_456, 1_250_000, 2_000_000_000].map(count),
            ["999", "12.3k", "123k", "1.2M", "2000M"]
        );
        assert_eq!(
            [0, 120, 41_234, 12_300_000].map(money),
            ["$0", "$0.000120", "$0.041", "$12.30"]
        );
        assert_eq!(
            [812, 12_600, 1_288_490_189, u64::MAX].map(bytes),
            ["812 B", "12.3 KiB", "1.2 GiB", "16383.9 PiB"]
        );
        assert_eq!((tokens(1), counted(2, "job")), ("1 token".into(), "2 jobs".into()));
    }

    #[test]
    fn moments_are_shown_in_the_given_zone() {
        let zone = FixedOffset::east_opt(3_600).expect("an hour");
        let at = Timestamp(1_796_068_212_000);
        assert_eq!(
            (day_time(at, &zone), clock_time(at, &zone)),
            ("2026-11-30 20:50".into(), "20:50:12".into())
        );
        assert_eq!(clock_time(Timestamp(u64::MAX), &zone), u64::MAX.to_string());
    }

    #[test]
    fn long_texts_and_lists_are_cut_visibly() {
        assert_eq!(first_line("\n  \n häuser und mehr\nzweite", 8), "häuser …");
        assert_eq!(cut("genau", 5), "genau");
        assert_eq!(some_names(&["a", "b", "c", "d"], 2), "a, b and 2 more");
    }
}
