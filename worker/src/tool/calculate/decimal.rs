//! The arithmetic: decimals of a bounded precision and range.

use std::num::NonZeroU64;

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{BigDecimal, RoundingMode, Zero as _};

use super::CalculateError;
use super::expression::{Expression, Operator};

/// Significant digits of every result.
pub const PRECISION: u64 = 50;
/// Largest power of ten of a number or result, and smallest with its sign turned: wide enough for any figure, narrow
/// enough that adding the largest and the smallest costs microseconds.
pub const EXPONENT_MAX: i64 = 1_000;
/// Digits of a quotient before it is rounded: two more than are kept, of which the last only says whether
/// something is left behind it.
const QUOTIENT_DIGITS: u64 = PRECISION + 2;
/// Zeros that are written out around a number before it is written with an exponent.
const PLAIN_EXPONENT_MAX: i64 = 60;

/// Makes a number from its digits before and behind the point and its exponent, which all may be empty.
pub fn literal(whole: &str, fraction: &str, exponent: &str, at: usize) -> Result<BigDecimal, CalculateError> {
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    if significant.trim_end_matches('0').len() as u64 > PRECISION {
        return Err(CalculateError::TooPrecise { at });
    }
    // Text of at most 200 characters: only an exponent can be too long for the types.
    let exponent = if exponent.is_empty() {
        Some(0)
    } else {
        exponent.parse::<i64>().ok()
    };
    let exponent = exponent.filter(|exponent| (-EXPONENT_MAX..=EXPONENT_MAX).contains(exponent));
    let (Some(exponent), Ok(fraction_digits)) = (exponent, i64::try_from(fraction.len())) else {
        return Err(CalculateError::ExponentTooLarge { at });
    };
    let digits = if significant.is_empty() {
        BigInt::from(0)
    } else {
        significant.parse().unwrap_or_default()
    };
    let number = BigDecimal::new(digits, fraction_digits - exponent);
    within_range(number).map_err(|_| CalculateError::ExponentTooLarge { at })
}

/// Computes a checked expression. Its depth is bounded by its nodes.
pub fn evaluate(expression: &Expression) -> Result<BigDecimal, CalculateError> {
    match expression {
        Expression::Number(number) => Ok(number.clone()),
        Expression::Negate(inner) => Ok(-evaluate(inner)?),
        Expression::Binary(operator, left, right) => {
            let (left, right) = (evaluate(left)?, evaluate(right)?);
            let exact = match operator {
                Operator::Add => left + right,
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
                Operator::Divide => divide(&left, &right)?,
            };
            within_range(rounded(exact))
        }
    }
}

/// Writes a number so that equal numbers have one text: without needless zeros, plain unless it is very large or small.
#[must_use]
pub fn show(number: &BigDecimal) -> String {
    let number = number.normalized();
    if (-PLAIN_EXPONENT_MAX..=PLAIN_EXPONENT_MAX).contains(&number.order_of_magnitude()) {
        number.to_plain_string()
    } else {
        number.to_scientific_notation()
    }
}

/// The quotient with enough digits that rounding it once more gives the right last digit.
fn divide(left: &BigDecimal, right: &BigDecimal) -> Result<BigDecimal, CalculateError> {
    if right.is_zero() {
        return Err(CalculateError::DivisionByZero);
    }
    let wanted = QUOTIENT_DIGITS + right.digits();
    let shift = u32::try_from(wanted.saturating_sub(left.digits())).map_err(|_| CalculateError::OutOfRange)?;
    let (numerator, numerator_scale) = left.as_bigint_and_exponent();
    let (denominator, denominator_scale) = right.as_bigint_and_exponent();
    let numerator = numerator * BigInt::from(10).pow(shift);
    let mut quotient = &numerator / &denominator;
    let remainder = numerator - &quotient * &denominator;
    // A last digit of 0 or 5 would look like an exact value or a tie although something is left.
    if !remainder.is_zero() && (&quotient % 5_u8).is_zero() {
        let away_from_zero = if remainder.sign() == denominator.sign() {
            Sign::Plus
        } else {
            Sign::Minus
        };
        quotient += BigInt::from_slice(away_from_zero, &[1]);
    }
    Ok(BigDecimal::new(
        quotient,
        numerator_scale - denominator_scale + i64::from(shift),
    ))
}

fn rounded(number: BigDecimal) -> BigDecimal {
    match NonZeroU64::new(PRECISION) {
        Some(precision) if number.digits() > PRECISION => {
            number.with_precision_round(precision, RoundingMode::HalfEven)
        }
        _ => number,
    }
}

fn within_range(number: BigDecimal) -> Result<BigDecimal, CalculateError> {
    let exponent = number.order_of_magnitude();
    let fits = number.is_zero() || (-EXPONENT_MAX..=EXPONENT_MAX).contains(&exponent);
    // A zero may still drag an exponent along.
    let number = if number.is_zero() { BigDecimal::zero() } else { number };
    if fits {
        Ok(number)
    } else {
        Err(CalculateError::OutOfRange)
    }
}
