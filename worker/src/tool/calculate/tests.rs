use super::super::files::testing::Tools;
use super::*;
use proptest::prelude::*;

fn value(text: &str) -> String {
    evaluate(text).map_or_else(|error| format!("error: {error}"), |value| show(&value))
}

fn error(text: &str) -> CalculateError {
    evaluate(text).expect_err("should have no value")
}

#[test]
fn s29_the_four_operations_signs_and_parentheses_are_calculated() {
    for (text, expected) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("100 / 10 / 5", "2"),
        ("2 * -3", "-6"),
        ("-2 - -3", "1"),
        ("-(2 + 3) * 2", "-10"),
        ("+5", "5"),
        ("0.1 + 0.2", "0.3"),
        ("1.10 * 3", "3.3"),
        (".5 + 5.", "5.5"),
        ("1e3 + 2.5E-1", "1000.25"),
        ("1e+2", "100"),
        ("0 * -1", "0"),
        (
            "(1250.50 - 980) / 980 * 100",
            "27.602040816326530612244897959183673469387755102041",
        ),
        ("1/3", "0.33333333333333333333333333333333333333333333333333"),
        ("2/3", "0.66666666666666666666666666666666666666666666666667"),
        ("-2/3", "-0.66666666666666666666666666666666666666666666666667"),
        ("2/-3", "-0.66666666666666666666666666666666666666666666666667"),
        ("1/8", "0.125"),
        ("\t1\n+ 1 ", "2"),
        ("1e100", "1e100"),
        ("1e-100 * 5", "5e-100"),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn s29_results_are_rounded_half_to_even_at_fifty_digits() {
    let forty_nine = "1".repeat(49);
    assert_eq!(value(&format!("{forty_nine}2 + 0.5")), format!("{forty_nine}2"));
    assert_eq!(value(&format!("{forty_nine}3 + 0.5")), format!("{forty_nine}4"));
    assert_eq!(value(&format!("{forty_nine}2 + 0.5001")), format!("{forty_nine}3"));
    assert_eq!(
        value(&format!("{} + 0.5", "9".repeat(50))),
        format!("1{}", "0".repeat(50))
    );
}

#[test]
fn s29_a_quotient_just_over_a_tie_is_rounded_away_from_it() {
    // Digit 51 is a 5 and nothing but zeros follow for 48 digits: rounding twice would lose what comes then.
    let (left, right) = (
        "7285974499089253187613843351548269581056466302370",
        "6557377049180327868852459016393442622950819672131",
    );
    let quotient = "1.1111111111111111111111111111111111111111111111115";
    assert_eq!(value(&format!("{left} / {right}")), quotient);
    assert_eq!(value(&format!("-{left} / {right}")), format!("-{quotient}"));
    assert_eq!(value(&format!("{left} / -{right}")), format!("-{quotient}"));
}

#[test]
fn s29_every_bound_is_met_and_passed() {
    let sum = |terms: usize| vec!["1"; terms].join("+");
    assert_eq!(value(&sum(32)), "32");
    assert_eq!(error(&sum(33)), CalculateError::TooManyNodes);
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(value(&nested(16)), "1");
    assert_eq!(error(&nested(17)), CalculateError::TooDeep);
    assert_eq!(value(&format!("{}1", "-".repeat(16))), "1");
    assert_eq!(error(&format!("{}1", "-".repeat(17))), CalculateError::TooDeep);
    assert_eq!(value(&format!("1{}", " ".repeat(199))), "1");
    assert_eq!(error(&format!("1{}", " ".repeat(200))), CalculateError::TooLong);
    assert_eq!(
        value(&"é".repeat(200)),
        "error: at character 1: the name `éééééééééééééééééééé` cannot be calculated; use decimals with + - * / and parentheses"
    );
    assert_eq!(value(&"9".repeat(50)), "9".repeat(50));
    assert_eq!(error(&"9".repeat(51)), CalculateError::TooPrecise { at: 1 });
    assert_eq!(value(&format!("{}1.0", "0".repeat(100))), "1");
    assert_eq!(value("1e1000 / 1e1000"), "1");
    assert_eq!(error("1 + 1e1001"), CalculateError::ExponentTooLarge { at: 5 });
    assert_eq!(error("10e1000"), CalculateError::ExponentTooLarge { at: 1 });
    assert_eq!(error("1e-1001"), CalculateError::ExponentTooLarge { at: 1 });
    assert_eq!(error("1e1000 * 10"), CalculateError::OutOfRange);
    assert_eq!(error("1e-1000 / 10"), CalculateError::OutOfRange);
}

#[test]
fn s29_an_exponent_of_millions_is_refused_before_it_is_computed() {
    for huge in ["1e2000000+1", "1e-2000000+1", "1e99999999999999999999", "0e2000000"] {
        assert_eq!(error(huge), CalculateError::ExponentTooLarge { at: 1 }, "{huge}");
    }
}

#[test]
fn s29_names_calls_powers_booleans_and_infinities_are_refused_by_name() {
    let unsupported = |at, what: &str| CalculateError::Unsupported {
        at,
        what: what.to_owned(),
    };
    assert_eq!(error("x + 1"), unsupported(1, "the name `x`"));
    assert_eq!(error("1 + sqrt(2)"), unsupported(5, "the name `sqrt`"));
    assert_eq!(error("True"), unsupported(1, "the name `True`"));
    assert_eq!(error("-inf"), unsupported(2, "the name `inf`"));
    assert_eq!(error("NaN"), unsupported(1, "the name `NaN`"));
    assert_eq!(error("2 ** 3"), unsupported(4, "a power"));
    assert_eq!(error("2 ^ 3"), unsupported(3, "a power"));
    assert_eq!(error("7 // 2"), unsupported(4, "`//`"));
    assert_eq!(error("7 % 2"), unsupported(3, "`%`"));
    assert_eq!(error("1,000"), unsupported(2, "`,` in a number"));
    assert_eq!(error("1_000"), unsupported(2, "`_` in a number"));
    assert_eq!(error("0x10"), unsupported(2, "the name `x10`"));
    assert_eq!(error("1 < 2"), unsupported(3, "`<`"));
    assert_eq!(error("1; 2"), unsupported(2, "`;`"));
    assert_eq!(error("1\0"), unsupported(2, "`\\0`"));
    assert_eq!(error("٣ + 1"), unsupported(1, "`٣`"));
    assert_eq!(error("1 − 2"), unsupported(3, "`−`"));
}

#[test]
fn s29_broken_expressions_say_where_and_what_is_missing() {
    let expected = |at, expected| CalculateError::Expected { at, expected };
    assert_eq!(error(""), expected(1, "a number"));
    assert_eq!(error("1 +"), expected(4, "a number"));
    assert_eq!(error("1 + * 2"), expected(5, "a number"));
    assert_eq!(error("(1 + 2"), expected(7, "`)`"));
    assert_eq!(error("1 + 2)"), expected(6, "no `)` without its `(`"));
    assert_eq!(error("()"), expected(2, "a number"));
    assert_eq!(error("2 (3)"), expected(3, "an operator"));
    assert_eq!(error("1 2"), expected(3, "an operator"));
    assert_eq!(error("(1 2)"), expected(4, "`)` or an operator"));
    assert_eq!(error("1.2.3"), expected(4, "the end of the number"));
    assert_eq!(error("."), expected(1, "a digit beside the point"));
    assert_eq!(error("1e"), expected(3, "the digits of the exponent"));
}

#[test]
fn s29_division_by_zero_is_a_clear_error() {
    for text in ["1/0", "0/0", "1/(2-2)", "1/0.000", "1/-0", "1/(0*1e-900)"] {
        assert_eq!(error(text).to_string(), "division by zero", "{text}");
    }
}

#[tokio::test]
async fn s29_calculate_answers_as_a_tool() {
    let tools = Tools::new(&[]);
    assert_eq!(tools.ok("calculate", json!({"expression": "0.1 + 0.2"})).await, "0.3");
    assert_eq!(
        tools.error("calculate", json!({"expression": "1/0"})).await,
        "invalid_arguments: division by zero"
    );
}

/// An expression and its exact value as a fraction of `i128`; `None` where that overflows or divides by zero.
#[derive(Debug, Clone)]
struct Oracle {
    text: String,
    value: Option<(i128, i128)>,
}

impl Oracle {
    fn number(hundredths: i64) -> Self {
        let (whole, rest) = (hundredths.unsigned_abs() / 100, hundredths.unsigned_abs() % 100);
        let sign = if hundredths < 0 { "-" } else { "" };
        Self {
            text: format!("{sign}{whole}.{rest:02}"),
            value: reduced(i128::from(hundredths), 100),
        }
    }

    fn combine(operator: char, left: &Self, right: &Self) -> Self {
        let value = left.value.zip(right.value).and_then(|((a, b), (c, d))| {
            let cross = |one: i128, other: i128| Some((one.checked_mul(d)?, other.checked_mul(b)?));
            match operator {
                '+' => cross(a, c).and_then(|(left, right)| reduced(left.checked_add(right)?, b.checked_mul(d)?)),
                '-' => cross(a, c).and_then(|(left, right)| reduced(left.checked_sub(right)?, b.checked_mul(d)?)),
                '*' => reduced(a.checked_mul(c)?, b.checked_mul(d)?),
                _ => reduced(a.checked_mul(d)?, b.checked_mul(c)?),
            }
        });
        Self {
            text: format!("({}{operator}{})", left.text, right.text),
            value,
        }
    }
}

fn reduced(numerator: i128, denominator: i128) -> Option<(i128, i128)> {
    let (mut larger, mut divisor) = (numerator.unsigned_abs(), denominator.unsigned_abs());
    while divisor != 0 {
        (larger, divisor) = (divisor, larger % divisor);
    }
    let divisor = i128::try_from(larger).ok()?;
    let sign = if denominator < 0 { -1 } else { 1 };
    (denominator != 0).then(|| (sign * numerator / divisor, sign * denominator / divisor))
}

fn oracle(operators: &'static [char]) -> impl Strategy<Value = Oracle> {
    let number = (-100_000_i64..100_000).prop_map(Oracle::number);
    number.prop_recursive(4, 16, 2, move |inner| {
        (inner.clone(), prop::sample::select(operators), inner)
            .prop_map(|(left, operator, right)| Oracle::combine(operator, &left, &right))
    })
}

proptest! {
    #[test]
    fn s29_sums_and_products_equal_exact_fractions(oracle in oracle(&['+', '-', '*'])) {
        prop_assume!(oracle.text.len() <= CHARS_MAX);
        if let Some((numerator, denominator)) = oracle.value {
            // Hundredths multiplied a few times have fewer digits than are kept: nothing may be rounded.
            let value = evaluate(&oracle.text).unwrap();
            prop_assert_eq!(value * BigDecimal::from(denominator), BigDecimal::from(numerator), "{}", oracle.text);
        }
    }

    #[test]
    fn s29_quotients_are_as_near_to_exact_fractions_as_fifty_digits_allow(oracle in oracle(&['+', '*', '/'])) {
        prop_assume!(oracle.text.len() <= CHARS_MAX);
        if let Some((numerator, denominator)) = oracle.value {
            let value = evaluate(&oracle.text).unwrap();
            let difference = (value * BigDecimal::from(denominator) - BigDecimal::from(numerator)).abs();
            // A sum of rounded parts may cancel all but a few of its digits.
            let allowed = BigDecimal::new(1.into(), 30) * BigDecimal::from(denominator);
            prop_assert!(difference <= allowed, "{}: off by {}", oracle.text, difference);
        }
    }

    #[test]
    fn s29_one_quotient_is_rounded_right_in_its_last_digit(numerator in 1_i64.., denominator in 1_i64.., negative: bool) {
        let sign = if negative { "-" } else { "" };
        let value = evaluate(&format!("{sign}{numerator}/{denominator}")).unwrap();
        prop_assert_eq!(value < 0, negative);
        let value = value.abs();
        let error = (&value * BigDecimal::from(denominator) - BigDecimal::from(numerator)).abs();
        let half_a_digit = BigDecimal::new(5.into(), 50 - value.order_of_magnitude());
        prop_assert!(error <= half_a_digit * BigDecimal::from(denominator));
        prop_assert!(value.normalized().digits() <= PRECISION);
    }

    #[test]
    fn s29_no_text_breaks_the_calculator(text in "[0-9.eE+*/() x^,-]{0,60}") {
        if let Ok(value) = evaluate(&text) {
            let shown = show(&value);
            prop_assert_eq!(shown.parse::<BigDecimal>().unwrap(), value);
        }
    }
}
