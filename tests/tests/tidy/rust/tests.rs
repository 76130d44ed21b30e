use super::*;

fn read(path: &str, text: &str) -> Source {
    Source::read(&File {
        path: path.into(),
        text: text.into(),
    })
    .expect("the sample is Rust")
}

fn spans(source: &Source) -> Vec<(&str, usize, usize)> {
    source
        .functions
        .iter()
        .map(|found| (found.name.as_str(), found.first_line, found.last_line))
        .collect()
}

/// The lines of the literals that are compiled into the program.
fn literal_lines(source: &Source) -> Vec<usize> {
    let is_literal = |token: &&Token| matches!(token.kind, Kind::Literal(_)) && !token.in_test;
    source
        .tokens
        .iter()
        .filter(is_literal)
        .map(|token| token.line)
        .collect()
}

#[test]
fn braces_in_strings_chars_and_comments_do_not_end_a_function() {
    let source = read(
        "a.rs",
        "fn tricky<'a>(x: &'a str) -> char {\n let _ = \"}\\\"}\"; // }\n /* } /* } */ } */\n \
         let _ = r#\"}\"}\"#; let _ = b'}'; let _ = '\\'';\n '}'\n}\nfn next() {}\n",
    );
    assert_eq!(spans(&source), [("tricky", 1, 6), ("next", 7, 7)]);
}

#[test]
fn functions_in_impls_traits_functions_and_macros_are_seen() {
    let source = read(
        "a.rs",
        "impl A {\n pub async fn one(&self) -> [u8; 3]\n where Self: Sized {\n fn inner() {\n }\n }\n}\n\
         trait T {\n fn absent(&self);\n fn given(&self) {\n }\n}\n\
         macro_rules! m { () => {\n fn made() {\n }\n }; }\nconst F: fn(u8) = x;\n",
    );
    assert_eq!(
        spans(&source),
        [("one", 2, 6), ("inner", 4, 5), ("given", 10, 11), ("made", 14, 15)]
    );
}

#[test]
fn what_is_compiled_for_tests_only_is_told_apart() {
    let source = read(
        "a.rs",
        "const A: &str = \"1\";\n#[cfg(test)]\nuse a::{b, c};\nconst B: &str = \"4\";\n#[cfg(test)]\nmod tests {\n fn f() { \"7\" }\n}\n\
         #[test]\nfn t() { \"10\" }\n#[cfg(not(test))]\nfn u() { \"12\" }\n#[tokio::test(flavor = \"x\")]\nasync fn v() { \"14\" }\n\
         #[cfg(all(test, unix))]\nfn w<A, B>() { \"16\" }\nconst D: &str = \"17\";\n",
    );
    assert_eq!(literal_lines(&source), [1, 4, 12, 17]);
    let tests: Vec<_> = source
        .functions
        .iter()
        .filter(|found| found.is_test)
        .map(|found| &found.name)
        .collect();
    assert_eq!(tests, ["t", "v"]);
}

#[test]
fn modules_declared_for_tests_are_test_files() {
    let tree = Tree::of(&[
        ("a/src/lib.rs", "#[cfg(test)]\nmod fixtures;\nmod real;\n"),
        ("a/src/fixtures.rs", "const A: &str = \"\";"),
        ("a/src/fixtures/deep.rs", "const A: &str = \"\";"),
        (
            "a/src/real.rs",
            "const A: &str = \"\";\n#[cfg(test)]\n#[path = \"odd.rs\"]\nmod tests;\n#[cfg(test)]\nmod under;",
        ),
        ("a/src/odd.rs", "const A: &str = \"\";"),
        ("a/src/real/under/mod.rs", "const A: &str = \"\";"),
        ("a/tests/any.rs", "const A: &str = \"\";"),
        ("a/src/real/tests.rs", "const A: &str = \"\";"),
    ]);
    let sources = sources(&tree);
    let real: Vec<_> = sources
        .iter()
        .filter(|source| !literal_lines(source).is_empty())
        .map(|it| &it.path)
        .collect();
    assert_eq!(real, ["a/src/real.rs"]);
}

#[test]
fn documentation_is_not_a_literal() {
    let source = read(
        "a.rs",
        "//! Reads \"x\".\n/// Calls `Instant::now`.\n#[doc = \"y\"]\nfn f() {}\n",
    );
    assert_eq!(literal_lines(&source), [] as [usize; 0]);
    assert_eq!(source.places_of("Instant::now").count(), 0);
}

#[test]
fn a_path_is_found_by_its_last_parts() {
    let source = read(
        "a.rs",
        "fn f() {\n std::time::Instant::now();\n Instant :: now;\n later::Instant::nowhere();\n}\n",
    );
    let lines: Vec<_> = source
        .places_of("Instant::now")
        .map(|place| source.tokens[place].line)
        .collect();
    assert_eq!(lines, [2, 3]);
}

#[test]
fn text_that_is_not_rust_is_an_error() {
    let file = File {
        path: "a.rs".into(),
        text: "fn f() { \"".into(),
    };
    assert!(Source::read(&file).is_err());
}
