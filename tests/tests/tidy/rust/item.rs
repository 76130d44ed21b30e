//! Where an item begins and ends in a row of tokens, and what its attributes say.

use proc_macro2::{Delimiter, TokenTree};

/// What makes tokens an item, in which a comma ends nothing.
const ITEM_KEYWORDS: &[&str] = &[
    "const", "enum", "fn", "impl", "mod", "static", "struct", "trait", "type", "use",
];

/// What the attributes and the tokens so far tell about an item, a field or a statement.
#[derive(Debug, Default)]
pub struct ItemState {
    /// Whether it is compiled for tests only.
    pub is_test: bool,
    /// Whether an attribute makes it a test.
    pub is_test_function: bool,
    keyword: Option<String>,
    /// The file that an attribute names.
    pub path: Option<String>,
}

impl ItemState {
    /// Takes notice of an attribute, written without spaces.
    pub fn note(&mut self, attribute: &str) {
        let name = attribute.split(['(', '=']).next().unwrap_or_default();
        let is_test_function = name.rsplit("::").next() == Some("test");
        let conditions: Vec<&str> = attribute.split(['(', ')', ',']).collect();
        let only_in_tests = name == "cfg"
            && conditions.contains(&"test")
            && !conditions.iter().any(|condition| matches!(*condition, "not" | "any"));
        self.is_test_function |= is_test_function;
        self.is_test |= is_test_function || only_in_tests;
        if let Some(path) = attribute.strip_prefix("path=") {
            self.path = Some(path.trim_matches('"').to_owned());
        }
    }

    /// Takes notice of a token behind the attributes.
    pub fn go_on(&mut self, token: &TokenTree) {
        if let TokenTree::Ident(word) = token
            && self.keyword.is_none()
        {
            self.keyword = Some(word.to_string()).filter(|word| ITEM_KEYWORDS.contains(&word.as_str()));
        }
    }

    /// Whether `token` is its last.
    pub fn ends_with(&self, token: &TokenTree) -> bool {
        match token {
            TokenTree::Punct(punct) => punct.as_char() == ';' || (punct.as_char() == ',' && self.keyword.is_none()),
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && self.keyword.as_deref() != Some("use"),
            _ => false,
        }
    }
}

/// The attribute that begins here, written without spaces, and how many tokens it takes.
pub fn attribute(tokens: &[TokenTree]) -> Option<(String, usize)> {
    let is =
        |token: Option<&TokenTree>, wanted| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted);
    if !is(tokens.first(), '#') {
        return None;
    }
    let length = if is(tokens.get(1), '!') { 3 } else { 2 };
    match tokens.get(length - 1) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => {
            Some((group.stream().to_string().replace(' ', ""), length))
        }
        _ => None,
    }
}
