//! `calculate`: exact arithmetic on decimals, so that a model need not guess figures.

mod decimal;
mod expression;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use bigdecimal::BigDecimal;
use legwork_shared::agent::{Effect, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolContext, ToolError, ToolErrorCode, arguments};
pub use decimal::{EXPONENT_MAX, PRECISION, show};
pub use expression::{CHARS_MAX, DEPTH_MAX, NODES_MAX};

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CalculateError {
    /// More than [`CHARS_MAX`] characters.
    #[error("the expression has more than {CHARS_MAX} characters: calculate in parts")]
    TooLong,
    /// More than [`NODES_MAX`] numbers, operators and signs.
    #[error("the expression has more than {NODES_MAX} numbers and operators: calculate in parts")]
    TooManyNodes,
    /// More than [`DEPTH_MAX`] parentheses and signs inside each other.
    #[error("the expression is nested deeper than {DEPTH_MAX} levels: calculate in parts")]
    TooDeep,
    /// Something that arithmetic on decimals does not have.
    #[error("at character {at}: {what} cannot be calculated; use decimals with + - * / and parentheses")]
    Unsupported {
        /// Where, counted from 1.
        at: usize,
        /// What.
        what: String,
    },
    /// Something else should stand there.
    #[error("at character {at}: expected {expected}")]
    Expected {
        /// Where, counted from 1.
        at: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// A number with more than [`PRECISION`] digits.
    #[error("at character {at}: the number has more than {PRECISION} digits")]
    TooPrecise {
        /// Where, counted from 1.
        at: usize,
    },
    /// A number whose exponent is beyond [`EXPONENT_MAX`].
    #[error("at character {at}: the number is out of range: exponents go from -{EXPONENT_MAX} to {EXPONENT_MAX}")]
    ExponentTooLarge {
        /// Where, counted from 1.
        at: usize,
    },
    /// A result, perhaps of a part, whose exponent is beyond [`EXPONENT_MAX`].
    #[error("a result is out of range: exponents go from -{EXPONENT_MAX} to {EXPONENT_MAX}")]
    OutOfRange,
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
}

/// Calculates an expression of decimals, `+ - * /`, signs and parentheses.
///
/// Each operation is exact up to [`PRECISION`] significant digits, rounded half to even beyond them. Every bound is
/// checked on the text, before anything is computed.
///
/// # Errors
/// [`CalculateError`] says where and why.
pub fn evaluate(text: &str) -> Result<BigDecimal, CalculateError> {
    decimal::evaluate(&expression::parse(text)?)
}

/// Calculates an expression.
pub struct Calculate;

#[derive(Deserialize)]
struct Args {
    expression: String,
}

#[async_trait]
impl Tool for Calculate {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "calculate".to_owned(),
            description: format!(
                "Calculates with decimals: + - * / and parentheses, exact to {PRECISION} significant digits. Use it for every \
                 figure that you do not find written. At most {CHARS_MAX} characters; no names, functions or powers."
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "expression": {"type": "string", "description": "Such as `(1250.50 - 980) / 980 * 100`"}
                },
                "required": ["expression"],
                "additionalProperties": false
            }),
            effect: Effect::None,
        }
    }

    async fn call(&self, args: Value, _ctx: &ToolContext) -> Result<String, ToolError> {
        let Args { expression } = arguments::take(args)?;
        let value = evaluate(&expression)
            .map_err(|error| ToolError::new(ToolErrorCode::InvalidArguments, error.to_string()))?;
        Ok(show(&value))
    }
}
