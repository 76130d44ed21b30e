//! Figures in sentences: numbers with a unit, made comparable.

use crate::docs::words::{is_cjk, is_stop_word, stem};

/// What a figure measures; only figures of one dimension can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dimension {
    /// Bytes.
    Size,
    /// Seconds.
    Time,
    /// A share of a whole.
    Percent,
    /// How many times as much.
    Factor,
    /// Litres.
    Volume,
    /// Grams.
    Mass,
    /// Metres.
    Length,
    /// Watts.
    Power,
    /// Hertz.
    Frequency,
    /// How many of something; the stem of its name.
    Count(String),
}

/// A number with its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The value in the base unit of its dimension.
    pub value: f64,
    /// By how much the value is uncertain from rounding alone.
    pub rounding: f64,
    /// What it measures.
    pub dimension: Dimension,
    /// Where the figure stands in its sentence, in bytes.
    pub span: std::ops::Range<usize>,
}

impl Figure {
    /// Whether two figures of one dimension can both be true of the same thing.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        // A figure rounded to its last digit is off by half of it; one more half for those who cut off.
        (self.value - other.value).abs() <= self.rounding.max(other.rounding) * 1.01 + 1e-9
    }
}

/// What a sentence says in numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbers {
    /// The numbers with a unit.
    pub figures: Vec<Figure>,
    /// Every number as it is compared, with the place where it stands; for "the same configuration".
    pub all: Vec<(std::ops::Range<usize>, String)>,
}

/// Units with their dimension and factor. Case matters where it does in the unit.
const UNITS: &[(&str, Dimension, f64)] = &[
    ("B", Dimension::Size, 1.0),
    ("byte", Dimension::Size, 1.0),
    ("bytes", Dimension::Size, 1.0),
    ("字节", Dimension::Size, 1.0),
    ("kB", Dimension::Size, 1e3),
    ("KB", Dimension::Size, 1e3),
    ("MB", Dimension::Size, 1e6),
    ("GB", Dimension::Size, 1e9),
    ("TB", Dimension::Size, 1e12),
    ("PB", Dimension::Size, 1e15),
    ("KiB", Dimension::Size, 1024.0),
    ("MiB", Dimension::Size, 1_048_576.0),
    ("GiB", Dimension::Size, 1_073_741_824.0),
    ("TiB", Dimension::Size, 1_099_511_627_776.0),
    ("kilobytes", Dimension::Size, 1e3),
    ("megabytes", Dimension::Size, 1e6),
    ("gigabytes", Dimension::Size, 1e9),
    ("terabytes", Dimension::Size, 1e12),
    ("ns", Dimension::Time, 1e-9),
    ("µs", Dimension::Time, 1e-6),
    ("μs", Dimension::Time, 1e-6),
    ("us", Dimension::Time, 1e-6),
    ("ms", Dimension::Time, 1e-3),
    ("s", Dimension::Time, 1.0),
    ("nanoseconds", Dimension::Time, 1e-9),
    ("microseconds", Dimension::Time, 1e-6),
    ("milliseconds", Dimension::Time, 1e-3),
    ("millisecond", Dimension::Time, 1e-3),
    ("second", Dimension::Time, 1.0),
    ("seconds", Dimension::Time, 1.0),
    ("sec", Dimension::Time, 1.0),
    ("min", Dimension::Time, 60.0),
    ("minute", Dimension::Time, 60.0),
    ("minutes", Dimension::Time, 60.0),
    ("h", Dimension::Time, 3_600.0),
    ("hour", Dimension::Time, 3_600.0),
    ("hours", Dimension::Time, 3_600.0),
    ("day", Dimension::Time, 86_400.0),
    ("days", Dimension::Time, 86_400.0),
    ("week", Dimension::Time, 604_800.0),
    ("weeks", Dimension::Time, 604_800.0),
    ("毫秒", Dimension::Time, 1e-3),
    ("分钟", Dimension::Time, 60.0),
    ("小时", Dimension::Time, 3_600.0),
    ("秒", Dimension::Time, 1.0),
    ("天", Dimension::Time, 86_400.0),
    ("%", Dimension::Percent, 1.0),
    ("percent", Dimension::Percent, 1.0),
    ("per cent", Dimension::Percent, 1.0),
    ("times", Dimension::Factor, 1.0),
    ("x", Dimension::Factor, 1.0),
    ("倍", Dimension::Factor, 1.0),
    ("ml", Dimension::Volume, 1e-3),
    ("l", Dimension::Volume, 1.0),
    ("litres", Dimension::Volume, 1.0),
    ("liters", Dimension::Volume, 1.0),
    ("mg", Dimension::Mass, 1e-3),
    ("g", Dimension::Mass, 1.0),
    ("kg", Dimension::Mass, 1e3),
    ("mm", Dimension::Length, 1e-3),
    ("cm", Dimension::Length, 1e-2),
    ("m", Dimension::Length, 1.0),
    ("km", Dimension::Length, 1e3),
    ("W", Dimension::Power, 1.0),
    ("kW", Dimension::Power, 1e3),
    ("Hz", Dimension::Frequency, 1.0),
    ("kHz", Dimension::Frequency, 1e3),
    ("MHz", Dimension::Frequency, 1e6),
    ("GHz", Dimension::Frequency, 1e9),
];

/// Words that multiply the number before them.
const MAGNITUDES: &[(&str, f64)] = &[
    ("hundred", 1e2),
    ("thousand", 1e3),
    ("million", 1e6),
    ("billion", 1e9),
    ("trillion", 1e12),
    ("百万", 1e6),
    ("千万", 1e7),
    ("万", 1e4),
    ("亿", 1e8),
];

/// Numbers written as words.
const SPELLED: &[(&str, f64)] = &[
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("twelve", 12.0),
    ("twenty", 20.0),
    ("fifty", 50.0),
    ("一", 1.0),
];

/// The numbers of a sentence in order.
#[must_use]
pub fn numbers(text: &str) -> Numbers {
    let mut numbers = Numbers::default();
    let mut at = 0;
    let mut inside_word = false;
    while let Some(c) = text[at..].chars().next() {
        // Only looked for where a word begins: inside one, digits are part of a name.
        let number = if inside_word { None } else { number_at(&text[at..]) };
        if let Some(number) = number {
            let end = at + number.bytes;
            numbers.all.push((at..end, canonical(number.value)));
            let figure = figure_at(text, at, &number);
            at = figure.as_ref().map_or(end, |figure| figure.span.end);
            numbers.figures.extend(figure);
            inside_word = false;
        } else {
            at += c.len_utf8();
            inside_word = c.is_alphanumeric() && !is_cjk(c) || "._".contains(c);
        }
    }
    numbers
}

struct Number {
    value: f64,
    rounding: f64,
    bytes: usize,
}

/// The number at the start of `rest`, with its magnitude.
fn number_at(rest: &str) -> Option<Number> {
    let mut number = digits_at(rest).or_else(|| spelled_at(rest))?;
    let after = &rest[number.bytes..];
    let space = after.len() - after.trim_start_matches([' ', '\u{A0}', '-']).len();
    for (word, factor) in MAGNITUDES {
        if let Some(next) = after[space..].strip_prefix(word)
            && (word.starts_with(is_cjk) || !next.starts_with(char::is_alphanumeric))
        {
            let bytes = number.bytes + space + word.len();
            number = Number {
                value: number.value * factor,
                rounding: number.rounding * factor,
                bytes,
            };
            break;
        }
    }
    Some(number)
}

fn digits_at(rest: &str) -> Option<Number> {
    let bytes = rest.as_bytes();
    if !bytes.first()?.is_ascii_digit() {
        return None;
    }
    let mut end = 0;
    let mut decimals: Option<i32> = None;
    while end < bytes.len() {
        let digit_follows = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        match bytes[end] {
            b'0'..=b'9' => decimals = decimals.map(|count| count + 1),
            b',' if decimals.is_none() && groups_thousands(&bytes[end + 1..]) => {}
            b'.' if decimals.is_none() && digit_follows => decimals = Some(0),
            // A second point makes it a version or an address.
            b'.' if digit_follows => return None,
            _ => break,
        }
        end += 1;
    }
    // `3d`, `2nd` and `4x10` are names unless the letters are a unit, as in `20ms`.
    if is_glued(&rest[end..]) {
        return None;
    }
    let value: f64 = rest[..end].replace(',', "").parse().ok()?;
    let exponent = -decimals.unwrap_or(0);
    Some(Number {
        value,
        rounding: 0.5 * 10_f64.powi(exponent),
        bytes: end,
    })
}

fn is_glued(after: &str) -> bool {
    let letters: String = after
        .chars()
        .take_while(|c| c.is_alphanumeric() && !is_cjk(*c))
        .collect();
    !letters.is_empty() && !UNITS.iter().any(|(unit, _, _)| *unit == letters)
}

fn groups_thousands(after: &[u8]) -> bool {
    after.len() >= 3 && after[..3].iter().all(u8::is_ascii_digit) && !after.get(3).is_some_and(u8::is_ascii_digit)
}

fn spelled_at(rest: &str) -> Option<Number> {
    let word: &str = if rest.starts_with(is_cjk) {
        let first = rest.chars().next()?;
        &rest[..first.len_utf8()]
    } else {
        rest.split(|c: char| !c.is_ascii_alphabetic()).next()?
    };
    let (_, value) = SPELLED.iter().find(|(spelled, _)| spelled.eq_ignore_ascii_case(word))?;
    // Alone, `one` is a pronoun and 一 a part of other words; before a magnitude both are numbers.
    let after = rest[word.len()..].trim_start_matches(' ');
    let counts = MAGNITUDES.iter().any(|(magnitude, _)| after.starts_with(magnitude));
    (counts || *value > 1.0 && word.is_ascii()).then_some(Number {
        value: *value,
        rounding: 0.0,
        bytes: word.len(),
    })
}

/// The figure that this number makes with the unit after it.
fn figure_at(text: &str, start: usize, number: &Number) -> Option<Figure> {
    let end = start + number.bytes;
    let after = &text[end..];
    let space = after.len() - after.trim_start_matches([' ', '\u{A0}']).len();
    let unit = &after[space..];
    for (name, dimension, factor) in UNITS {
        let Some(next) = unit.strip_prefix(name) else { continue };
        let ends = name.starts_with(is_cjk) || *name == "%" || !next.starts_with(char::is_alphanumeric);
        if ends {
            let span = start..end + space + name.len();
            let (value, rounding) = (number.value * factor, number.rounding * factor);
            return Some(Figure {
                value,
                rounding,
                dimension: dimension.clone(),
                span,
            });
        }
    }
    let noun = unit.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    let counts = space > 0 && noun.len() > 2 && noun.is_ascii() && noun == noun.to_lowercase() && !is_stop_word(noun);
    // Whole things are counted, not rounded.
    counts.then(|| Figure {
        value: number.value,
        rounding: 0.0,
        dimension: Dimension::Count(stem(noun)),
        span: start..end + space + noun.len(),
    })
}

fn canonical(value: f64) -> String {
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(String, f64, Dimension)> {
        let figures = numbers(text).figures.into_iter();
        figures
            .map(|figure| (text[figure.span.clone()].to_owned(), figure.value, figure.dimension))
            .collect()
    }

    #[test]
    fn numbers_with_units_are_figures_in_base_units() {
        assert_eq!(
            shown("It takes 3.07 GB or 2,048 MiB, 20 ms, 95 percent and 1.5 times as much."),
            [
                ("3.07 GB".to_owned(), 3.07e9, Dimension::Size),
                ("2,048 MiB".to_owned(), 2_048.0 * 1_048_576.0, Dimension::Size),
                ("20 ms".to_owned(), 0.02, Dimension::Time),
                ("95 percent".to_owned(), 95.0, Dimension::Percent),
                ("1.5 times".to_owned(), 1.5, Dimension::Factor),
            ]
        );
        assert_eq!(
            shown("one million vectors and 2000 dimensions"),
            [
                (
                    "one million vectors".to_owned(),
                    1e6,
                    Dimension::Count("vector".to_owned())
                ),
                (
                    "2000 dimensions".to_owned(),
                    2_000.0,
                    Dimension::Count("dimens".to_owned())
                ),
            ]
        );
        assert_eq!(shown("仅需约 3.07 GB 内存，只需 20 毫秒。").len(), 2);
    }

    #[test]
    fn versions_names_and_pronouns_are_no_figures() {
        for text in [
            "float32 vectors",
            "version 1.2.3 bytes",
            "one of them",
            "BM25 and v2 s",
            "in 2016. Then",
        ] {
            assert_eq!(shown(text), [], "{text}");
        }
    }

    #[test]
    fn the_same_number_compares_equal_however_it_is_written() {
        let all = |text: &str| {
            numbers(text)
                .all
                .into_iter()
                .map(|(_, number)| number)
                .collect::<Vec<_>>()
        };
        assert_eq!(all("1,000,000 × 768"), all("one million × 768"));
        assert_eq!(all("一百万条 768 维"), all("1000000 条 768 维"));
    }

    #[test]
    fn figures_agree_within_their_rounding() {
        let figure = |text: &str| numbers(text).figures.remove(0);
        assert!(figure("3.07 GB").agrees_with(&figure("3.1 GB")));
        assert!(figure("3,072,000,000 bytes").agrees_with(&figure("3.07 GB")));
        assert!(!figure("3.3 GB").agrees_with(&figure("6.0 GB")));
        assert!(!figure("2,000 dimensions").agrees_with(&figure("16,000 dimensions")));
    }
}
