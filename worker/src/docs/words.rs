//! Words: how text is cut into terms that can be compared, in scripts with and without spaces.

/// Whether a character belongs to a script that is written without spaces between words.
#[must_use]
pub fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

/// Whether more of the letters are Chinese or Japanese than not.
#[must_use]
pub fn is_mostly_cjk(text: &str) -> bool {
    let cjk = text.chars().filter(|c| is_cjk(*c)).count();
    let other = text.chars().filter(|c| c.is_alphabetic() && !is_cjk(*c)).count();
    // One ideograph carries about what three letters do.
    cjk * 3 > other
}

/// A stretch of text that is compared as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// A word or number of a script with spaces.
    Word(&'a str),
    /// A run of ideographs or kana.
    Run(&'a str),
}

/// The words and runs of a text in order.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = None;
    let mut in_run = false;
    let mut push = |from: Option<usize>, to: usize, run: bool| {
        if let Some(from) = from {
            tokens.push(if run {
                Token::Run(&text[from..to])
            } else {
                Token::Word(&text[from..to])
            });
        }
    };
    for (at, c) in text.char_indices() {
        let run = is_cjk(c);
        if !run && !c.is_alphanumeric() {
            push(start.take(), at, in_run);
        } else if start.is_none() || run != in_run {
            push(start.replace(at), at, in_run);
            in_run = run;
        }
    }
    push(start, text.len(), in_run);
    tokens
}

/// The pairs of neighbouring characters of a run; a single character stands for itself.
pub fn bigrams(run: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let width = if starts.len() > 2 { 2 } else { 1 };
    let last = starts.len().saturating_sub(width);
    (0..last).map(move |at| &run[starts[at]..starts[at + width]])
}

/// The terms of a text that carry meaning: stems of its words without stop words, and the pairs of its runs.
#[must_use]
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for token in tokens(text) {
        match token {
            Token::Word(word) => {
                let word = word.to_lowercase();
                if !is_stop_word(&word) && word.chars().count() > 1 {
                    terms.push(stem(&word));
                }
            }
            Token::Run(run) => {
                let parts = run.split(is_particle).filter(|part| !part.is_empty());
                terms.extend(parts.flat_map(bigrams).map(str::to_owned));
            }
        }
    }
    terms
}

/// Whether an ideograph only joins others.
#[must_use]
pub fn is_particle(c: char) -> bool {
    "的了和与及或是在吗呢也就都而着把被".contains(c)
}

/// A light stem of a lower-case word: plural, past and `-ing` forms of English fall together.
///
/// Other languages lose at most a final `s`, `e`, `ed` or `ing`, on both sides of any comparison.
#[must_use]
pub fn stem(word: &str) -> String {
    if word.len() <= 3 || !word.is_ascii() || word.bytes().any(|byte| byte.is_ascii_digit()) {
        return word.to_owned();
    }
    let mut stem = singular(word);
    for ending in ["ing", "ed"] {
        let Some(rest) = stem.strip_suffix(ending) else {
            continue;
        };
        if rest.len() >= 3 && rest.bytes().any(|byte| b"aeiouy".contains(&byte)) {
            stem = undoubled(rest);
            break;
        }
    }
    // `deletion` and `delete`, `connection` and `connect`.
    let noun = stem
        .strip_suffix("ion")
        .filter(|rest| rest.len() >= 4 && rest.ends_with(['t', 's']));
    let stem = noun.unwrap_or(&stem);
    match stem.strip_suffix('e') {
        Some(rest) if rest.len() >= 3 => rest.to_owned(),
        _ => stem.to_owned(),
    }
}

fn singular(word: &str) -> String {
    if let Some(rest) = word.strip_suffix("ies") {
        return format!("{rest}y");
    }
    for ending in ["sses", "xes", "ches", "shes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    let keeps_s = ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending));
    match word.strip_suffix('s') {
        Some(rest) if !keeps_s => rest.to_owned(),
        _ => word.to_owned(),
    }
}

fn undoubled(word: &str) -> String {
    let bytes = word.as_bytes();
    let doubled = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
    // `fall`, `pass` and `buzz` end double by themselves.
    if doubled && !word.ends_with(['l', 's', 'z']) {
        word[..word.len() - 1].to_owned()
    } else {
        word.to_owned()
    }
}

/// Whether a lower-case word is too common to tell texts apart, in English or German.
#[must_use]
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Sorted by byte order, for the binary search.
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "auf", "aus",
    "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could", "das", "dem",
    "den", "der", "des", "did", "die", "do", "does", "doing", "down", "du", "durch", "during", "each", "ein", "eine",
    "einem", "einen", "einer", "eines", "es", "few", "for", "from", "further", "für", "give", "had", "has", "have",
    "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "im", "in", "into", "is", "ist", "it",
    "its", "itself", "just", "let", "many", "me", "mit", "more", "most", "much", "my", "nicht", "no", "nor", "not",
    "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over", "own", "please", "same", "shall",
    "she", "should", "sich", "sie", "sind", "so", "some", "such", "tell", "than", "that", "the", "their", "theirs",
    "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "und", "under", "until", "up",
    "us", "very", "von", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "why", "wie",
    "will", "with", "would", "you", "your", "yours", "zu", "zum", "zur", "über",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_so_that_each_is_found() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
    }

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for (a, b) in [
            ("database", "databases"),
            ("scale", "scaling"),
            ("scaled", "scales"),
            ("query", "queries"),
            ("index", "indexes"),
            ("running", "run"),
            ("falling", "fall"),
            ("deletion", "deleted"),
            ("cost", "costs"),
        ] {
            assert_eq!(stem(a), stem(b), "{a} and {b}");
        }
        assert_eq!(stem("recall"), "recall");
        assert_eq!(stem("bus"), "bus");
        assert_eq!(stem("float32"), "float32");
    }

    #[test]
    fn a_mixed_text_gives_words_and_runs_in_order() {
        assert_eq!(
            tokens("HNSW 索引 over 100万vectors!"),
            [
                Token::Word("HNSW"),
                Token::Run("索引"),
                Token::Word("over"),
                Token::Word("100"),
                Token::Run("万"),
                Token::Word("vectors"),
            ]
        );
    }

    #[test]
    fn chinese_terms_are_pairs_that_do_not_reach_over_particles() {
        assert_eq!(terms("向量数据库的优点"), ["向量", "量数", "数据", "据库", "优点"]);
        assert_eq!(bigrams("库").collect::<Vec<_>>(), ["库"]);
        assert_eq!(bigrams("").count(), 0);
    }

    #[test]
    fn a_text_is_chinese_when_most_of_its_letters_are() {
        assert!(is_mostly_cjk("HNSW 索引需要多少内存？"));
        assert!(!is_mostly_cjk("The index 索引 keeps vectors in memory"));
        assert!(!is_mostly_cjk(""));
    }
}
