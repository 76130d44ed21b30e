//! The reading of an expression: a Pratt parser over characters.

use std::iter::Peekable;
use std::vec::IntoIter;

use bigdecimal::BigDecimal;

use super::{CalculateError, decimal};

/// Longest expression in characters.
pub const CHARS_MAX: usize = 200;
/// Most numbers, operators and signs of one expression.
pub const NODES_MAX: usize = 64;
/// Most parentheses and signs inside each other. A sum of many terms is long, not deep.
pub const DEPTH_MAX: usize = 16;

/// How strongly a sign holds what follows: more than `*` and `/`, so that `-2 * 3` is `(-2) * 3`.
const SIGN_POWER: u8 = 3;

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Operator {
    fn read(letter: char) -> Option<Self> {
        match letter {
            '+' => Some(Self::Add),
            '-' => Some(Self::Subtract),
            '*' => Some(Self::Multiply),
            '/' => Some(Self::Divide),
            _ => None,
        }
    }

    fn power(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 1,
            Self::Multiply | Self::Divide => 2,
        }
    }
}

/// A checked expression, within all bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    Number(BigDecimal),
    Negate(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expression, CalculateError> {
    if text.chars().count() > CHARS_MAX {
        return Err(CalculateError::TooLong);
    }
    let letters: Vec<(usize, char)> = (1..).zip(text.chars()).collect();
    let end = letters.len() + 1;
    let mut parser = Parser {
        letters: letters.into_iter().peekable(),
        end,
        nodes: 0,
        depth: 0,
    };
    let expression = parser.expression(0)?;
    match parser.peek() {
        None => Ok(expression),
        Some(')') => Err(parser.expected("no `)` without its `(`")),
        Some(letter) => Err(parser.unexpected(letter, "an operator")),
    }
}

struct Parser {
    /// Each with its position, counted from 1.
    letters: Peekable<IntoIter<(usize, char)>>,
    end: usize,
    nodes: usize,
    depth: usize,
}

impl Parser {
    /// Reads as far as operators hold more strongly than `power`.
    fn expression(&mut self, power: u8) -> Result<Expression, CalculateError> {
        let mut left = self.value()?;
        while let Some(operator) = self
            .peek()
            .and_then(Operator::read)
            .filter(|operator| operator.power() > power)
        {
            self.letters.next();
            self.count_node()?;
            if let Some(doubled) = self.doubled(operator) {
                return Err(self.unsupported(doubled));
            }
            let right = self.expression(operator.power())?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn value(&mut self) -> Result<Expression, CalculateError> {
        match self.peek() {
            None => Err(self.expected("a number")),
            Some('(') => self.nested(Self::parenthesised),
            Some('-') => {
                self.count_node()?;
                self.nested(|parser| Ok(Expression::Negate(Box::new(parser.expression(SIGN_POWER)?))))
            }
            Some('+') => {
                self.count_node()?;
                self.nested(|parser| parser.expression(SIGN_POWER))
            }
            Some('0'..='9' | '.') => {
                self.count_node()?;
                self.number()
            }
            Some(letter) => Err(self.unexpected(letter, "a number")),
        }
    }

    fn parenthesised(&mut self) -> Result<Expression, CalculateError> {
        let inner = self.expression(0)?;
        match self.peek() {
            Some(')') => {
                self.letters.next();
                Ok(inner)
            }
            Some(letter) => Err(self.unexpected(letter, "`)` or an operator")),
            None => Err(self.expected("`)`")),
        }
    }

    /// Reads behind a parenthesis or sign, one level deeper.
    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Expression, CalculateError>,
    ) -> Result<Expression, CalculateError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(CalculateError::TooDeep);
        }
        self.letters.next();
        let inner = read(self)?;
        self.depth -= 1;
        Ok(inner)
    }

    fn number(&mut self) -> Result<Expression, CalculateError> {
        let at = self.position();
        let whole = self.digits();
        let fraction = if self.take('.') { self.digits() } else { String::new() };
        if whole.is_empty() && fraction.is_empty() {
            return Err(CalculateError::Expected {
                at,
                expected: "a digit beside the point",
            });
        }
        let exponent = if self.take('e') || self.take('E') {
            self.exponent()?
        } else {
            String::new()
        };
        let number = decimal::literal(&whole, &fraction, &exponent, at)?;
        match self.letters.peek().map(|(_, letter)| *letter) {
            Some(letter) if letter.is_alphanumeric() || matches!(letter, '.' | '_' | ',') => {
                Err(self.unexpected(letter, "the end of the number"))
            }
            _ => Ok(Expression::Number(number)),
        }
    }

    fn exponent(&mut self) -> Result<String, CalculateError> {
        let sign = if self.take('-') { "-" } else { "" };
        if sign.is_empty() {
            self.take('+');
        }
        match self.digits() {
            digits if digits.is_empty() => Err(self.expected("the digits of the exponent")),
            digits => Ok(format!("{sign}{digits}")),
        }
    }

    fn digits(&mut self) -> String {
        let mut digits = String::new();
        while let Some((_, digit)) = self.letters.next_if(|(_, letter)| letter.is_ascii_digit()) {
            digits.push(digit);
        }
        digits
    }

    fn take(&mut self, wanted: char) -> bool {
        self.letters.next_if(|(_, letter)| *letter == wanted).is_some()
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while self.letters.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
        self.letters.peek().map(|(_, letter)| *letter)
    }

    fn position(&mut self) -> usize {
        self.letters.peek().map_or(self.end, |(at, _)| *at)
    }

    fn count_node(&mut self) -> Result<(), CalculateError> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            Err(CalculateError::TooManyNodes)
        } else {
            Ok(())
        }
    }

    /// `**` and `//` mean powers and whole divisions elsewhere.
    fn doubled(&mut self, operator: Operator) -> Option<&'static str> {
        let next = self.letters.peek().map(|(_, letter)| *letter);
        match (operator, next) {
            (Operator::Multiply, Some('*')) => Some("a power"),
            (Operator::Divide, Some('/')) => Some("`//`"),
            _ => None,
        }
    }

    /// The error for a character that cannot stand where `expected` should.
    fn unexpected(&mut self, letter: char, expected: &'static str) -> CalculateError {
        match letter {
            '0'..='9' | '.' | '(' | ')' | '+' | '-' | '*' | '/' => self.expected(expected),
            '^' => self.unsupported("a power"),
            ',' | '_' => self.unsupported(&format!("`{letter}` in a number")),
            _ if letter.is_alphabetic() => {
                let word = self.word();
                self.unsupported(&format!("the name `{word}`"))
            }
            _ => self.unsupported(&format!("`{}`", letter.escape_debug())),
        }
    }

    fn word(&self) -> String {
        self.letters
            .clone()
            .map(|(_, letter)| letter)
            .take_while(|letter| letter.is_alphanumeric())
            .take(20)
            .collect()
    }

    fn expected(&mut self, expected: &'static str) -> CalculateError {
        CalculateError::Expected {
            at: self.position(),
            expected,
        }
    }

    fn unsupported(&mut self, what: &str) -> CalculateError {
        CalculateError::Unsupported {
            at: self.position(),
            what: what.to_owned(),
        }
    }
}
