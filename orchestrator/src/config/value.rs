//! How values are written: counts, amounts, durations, lists. Each problem is the rest of a sentence.

use std::path::PathBuf;

/// The most jobs at a time that make sense in one process; more is a typing error.
const SLOTS_MAX: usize = 16_384;
/// The longest duration that is accepted, a year: more is a typing error.
const DURATION_MS_MAX: u64 = 366 * 24 * 3_600_000;

pub(super) fn text(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty".into());
    }
    Ok(text.to_owned())
}

pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() || text.contains('\0') {
        return Err("it is empty or has a zero byte".into());
    }
    Ok(PathBuf::from(text))
}

pub(super) fn slots(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(slots) if (1..=SLOTS_MAX).contains(&slots) => Ok(slots),
        Ok(_) | Err(_) => Err(format!("it is not between 1 and {SLOTS_MAX}")),
    }
}

pub(super) fn count(text: &str) -> Result<u64, String> {
    let digits = text.trim().replace('_', "");
    digits.parse().map_err(|_| "it is no whole number".into())
}

pub(super) fn names(text: &str) -> Result<Vec<String>, String> {
    let names: Vec<String> = text
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        return Err("it names nothing".into());
    }
    Ok(names)
}

/// A duration in milliseconds: `250ms`, `30s`, `5m`, `2h`, `1d`, or seconds without a unit.
///
/// # Errors
/// What is wrong, as the rest of a sentence.
pub fn duration_ms(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 24 * 3_600_000,
        unit => return Err(format!("`{unit}` is no unit of time")),
    };
    let amount: u64 = digits.parse().map_err(|_| "it is no duration")?;
    let ms = amount.checked_mul(factor).filter(|ms| *ms <= DURATION_MS_MAX);
    ms.ok_or_else(|| "it is longer than a year".into())
}

/// An amount of US dollars in millionths: `2`, `0.5`, `$0.000001`.
///
/// # Errors
/// What is wrong, as the rest of a sentence.
pub fn micro_usd(text: &str) -> Result<u64, String> {
    let text = text.trim().trim_start_matches('$');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err("it is no amount".into());
    }
    if fraction.len() > 6 {
        return Err("it has more than six decimals".into());
    }
    let parse = |digits: &str| {
        if digits.is_empty() {
            Ok(0)
        } else {
            digits.parse::<u64>()
        }
    };
    let micro = parse(whole).ok().and_then(|whole| {
        let fraction = parse(&format!("{fraction:0<6}")).ok()?;
        whole.checked_mul(1_000_000)?.checked_add(fraction)
    });
    micro.ok_or_else(|| "it is too large".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let cases = [
            ("30", 30_000),
            ("30s", 30_000),
            ("250ms", 250),
            ("5 m", 300_000),
            ("1d", 86_400_000),
        ];
        for (text, ms) in cases {
            assert_eq!(duration_ms(text), Ok(ms), "{text}");
        }
        for wrong in ["", "s", "-5s", "5x", "1.5s", "99999999999999999999s", "400d"] {
            assert!(duration_ms(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts_are_exact() {
        let cases = [
            ("2", 2_000_000),
            ("$0.50", 500_000),
            (".25", 250_000),
            ("1.", 1_000_000),
            ("0.000001", 1),
        ];
        for (text, micro) in cases {
            assert_eq!(micro_usd(text), Ok(micro), "{text}");
        }
        for wrong in ["", ".", "-1", "1e3", "0.0000001", "1,5", "99999999999999999999"] {
            assert!(micro_usd(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_may_be_grouped() {
        assert_eq!(count("200_000"), Ok(200_000));
        assert!(count("-1").is_err());
        assert!(slots("0").is_err() && slots("16385").is_err());
        assert_eq!(names(" a, b ,,"), Ok(vec!["a".into(), "b".into()]));
    }
}
