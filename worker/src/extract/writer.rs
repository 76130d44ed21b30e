//! The writer: sets an analysis out as a Markdown report.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::analyst::{Agreement, Analysis, Gap, Group};
use super::citation::Quote;
use super::question::{Language, Question};
use super::reviewer::{Claim, Coverage, Disagreement, Named};

/// How many names a line lists before the rest is counted.
const NAMES_MAX: usize = 8;

/// How much of the question the title shows.
const TITLE_CHARS_MAX: usize = 160;

/// The report on an analysis. The same analysis gives the same bytes.
#[must_use]
pub fn report(question: &Question, analysis: &Analysis) -> String {
    let mut writer = Writer {
        out: String::new(),
        language: question.language,
    };
    writer.title(&question.text);
    writer.made(analysis);
    writer.findings(&analysis.groups);
    writer.agreements(analysis);
    writer.disagreements(&analysis.disagreements);
    writer.limits(&analysis.limits);
    writer.gaps(&analysis.gaps);
    writer.sources(analysis);
    writer.out
}

struct Writer {
    out: String,
    language: Language,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn heading(&mut self, level: usize, text: &str) {
        let _ = write!(self.out, "\n{} {text}\n\n", "#".repeat(level));
    }

    fn title(&mut self, question: &str) {
        let mut title: String = question.chars().take(TITLE_CHARS_MAX).collect();
        if title.len() < question.len() {
            title.push('…');
        }
        // The question is the asker's text: it must neither cite nor quote nor mark up anything in the report.
        let title: String = title
            .chars()
            .map(|c| if "[]“”<>`|".contains(c) { ' ' } else { c })
            .collect();
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = title.trim_matches(|c: char| c == '#' || c == ' ');
        let title = if title.is_empty() {
            self.language.phrases().untitled
        } else {
            title
        };
        let _ = writeln!(self.out, "# {title}");
    }

    fn made(&mut self, analysis: &Analysis) {
        let findings = analysis.groups.iter().map(|group| group.findings.len()).sum();
        let made = self
            .language
            .made(analysis.searched.documents, analysis.searched.sentences, findings);
        let _ = write!(self.out, "\n**{}** {made}\n", self.language.phrases().made_title);
    }

    fn findings(&mut self, groups: &[Group]) {
        let phrases = self.language.phrases();
        self.heading(2, phrases.findings);
        if groups.iter().all(|group| group.findings.is_empty()) {
            return self.line(phrases.nothing);
        }
        for (at, group) in groups.iter().enumerate() {
            if at > 0 {
                self.out.push('\n');
            }
            let _ = write!(self.out, "### {}\n\n", self.language.aspect(group.aspect));
            if group.findings.is_empty() {
                self.line(phrases.nothing_on_aspect);
            }
            for (number, finding) in (group.first_number..).zip(&group.findings) {
                let _ = write!(self.out, "{number}. {}", finding.quote);
                if !finding.copies.is_empty() {
                    let copies: Vec<String> = finding.copies.iter().take(NAMES_MAX).map(ToString::to_string).collect();
                    let _ = write!(self.out, " ({} {})", phrases.also, copies.join(phrases.list_separator));
                }
                self.out.push('\n');
            }
        }
    }

    fn agreements(&mut self, analysis: &Analysis) {
        let phrases = self.language.phrases();
        self.heading(2, phrases.agreements);
        if analysis.agreements.is_empty() {
            self.line(phrases.agreements_none);
        } else {
            let _ = write!(self.out, "{}\n\n", phrases.agreements_intro);
        }
        for Agreement { findings, echoes } in &analysis.agreements {
            let _ = writeln!(self.out, "- {}", self.language.agreement(findings, !echoes.is_empty()));
            self.quotes("  ", echoes);
        }
        if analysis.shared_figures.is_empty() {
            return;
        }
        let _ = write!(self.out, "\n### {}\n\n", phrases.same_figures);
        for shared in &analysis.shared_figures {
            let _ = writeln!(self.out, "- **{}**", shared.figure);
            self.quotes("  ", &shared.quotes);
        }
    }

    fn quotes(&mut self, indent: &str, quotes: &[Quote]) {
        for quote in quotes {
            let _ = writeln!(self.out, "{indent}- {quote}");
        }
    }

    fn disagreements(&mut self, disagreements: &[Disagreement]) {
        let phrases = self.language.phrases();
        self.heading(2, phrases.disagreements);
        if disagreements.is_empty() {
            return self.line(phrases.disagreements_none);
        }
        for Disagreement { subject, a, b } in disagreements {
            let _ = writeln!(self.out, "- **{} ≠ {}** ({subject})", a.figure, b.figure);
            self.claim(a);
            self.claim(b);
        }
    }

    fn claim(&mut self, claim: &Claim) {
        let gives = self.language.gives(&claim.quote.citation.file, &claim.figure);
        let _ = write!(self.out, "  - {gives} {}", claim.quote);
        if let Some(note) = &claim.note {
            let _ = write!(self.out, " {note}");
        }
        self.out.push('\n');
    }

    fn limits(&mut self, limits: &[Quote]) {
        if !limits.is_empty() {
            self.heading(2, self.language.phrases().limits);
            self.quotes("", limits);
        }
    }

    fn gaps(&mut self, gaps: &[Gap]) {
        let phrases = self.language.phrases();
        self.heading(2, phrases.gaps);
        if gaps.is_empty() {
            self.line(phrases.gaps_none);
        }
        for gap in gaps {
            let text = match gap {
                Gap::Thin { aspect, findings } => self.language.thin(*aspect, *findings),
                Gap::Missing { words } => {
                    let words = words.iter().map(|word| format!("`{word}`"));
                    self.language
                        .missing(&words.collect::<Vec<_>>().join(phrases.list_separator))
                }
                Gap::Stated { quote } => format!("{} {quote}", self.language.stated()),
                Gap::Silent { documents } => {
                    let names = self.names(documents, |name| format!("`{name}`"));
                    self.language.silent(documents.count, &names)
                }
                Gap::Unread { unread } => {
                    let names = self.names(&unread.files, |name| format!("`{name}`"));
                    self.language.unread(unread.files.count, &unread.why, &names)
                }
            };
            let _ = writeln!(self.out, "- {text}");
        }
    }

    fn names<T>(&self, named: &Named<T>, show: impl Fn(&T) -> String) -> String {
        let shown: Vec<String> = named.first.iter().take(NAMES_MAX).map(show).collect();
        let mut listed = shown.join(self.language.phrases().list_separator);
        if named.count > shown.len() {
            listed.push_str(&self.language.and_more(named.count - shown.len()));
        }
        listed
    }

    fn sources(&mut self, analysis: &Analysis) {
        self.heading(2, self.language.phrases().sources);
        let quoted = quoted(analysis);
        let mut unquoted = Named {
            count: analysis.coverage.count,
            first: vec![],
        };
        for source in &analysis.coverage.first {
            let count = quoted.get(source.file.as_str()).copied().unwrap_or(0);
            // That a document warns of itself is told even if it was therefore not quoted.
            if count > 0 || source.caveat.is_some() {
                unquoted.count -= 1;
                self.source(source, count);
            } else {
                unquoted.first.push(source.file.clone());
            }
        }
        if unquoted.count > 0 {
            let names = self.names(&unquoted, |name| format!("`{name}`"));
            let line = format!("- {}", self.language.unquoted(unquoted.count, &names));
            self.line(&line);
        }
    }

    fn source(&mut self, source: &Coverage, quotes: usize) {
        let contribution = self.language.contribution(quotes, source.on_subject);
        let _ = write!(self.out, "- `{}`", source.file);
        // A document without a title of its own is called by its file name, which stands there already.
        if !source.file.ends_with(&source.title) {
            let _ = write!(self.out, ": {}", plain(&source.title));
        }
        let _ = write!(self.out, " ({contribution})");
        for note in &source.notes {
            let _ = write!(self.out, "; {}", self.language.note(*note));
        }
        if let Some(caveat) = &source.caveat {
            let _ = write!(self.out, ". {} {caveat}", self.language.warns());
        }
        self.out.push('\n');
    }
}

/// How many sentences of each document the report quotes.
fn quoted(analysis: &Analysis) -> BTreeMap<&str, usize> {
    let findings = analysis
        .groups
        .iter()
        .flat_map(|group| &group.findings)
        .map(|finding| &finding.quote);
    let echoes = analysis.agreements.iter().flat_map(|agreement| &agreement.echoes);
    let figures = analysis.shared_figures.iter().flat_map(|shared| &shared.quotes);
    let claims = analysis
        .disagreements
        .iter()
        .flat_map(|disagreement| [&disagreement.a.quote, &disagreement.b.quote]);
    let stated = analysis.gaps.iter().filter_map(|gap| match gap {
        Gap::Stated { quote } => Some(quote),
        Gap::Thin { .. } | Gap::Missing { .. } | Gap::Silent { .. } | Gap::Unread { .. } => None,
    });
    let mut counts = BTreeMap::new();
    for quote in findings
        .chain(echoes)
        .chain(figures)
        .chain(claims)
        .chain(stated)
        .chain(&analysis.limits)
    {
        *counts.entry(quote.citation.file.as_str()).or_default() += 1;
    }
    counts
}

/// A title of a document as plain text, since it is not quoted.
fn plain(title: &str) -> String {
    title.chars().filter(|c| !"[]“”<>`|*_".contains(*c)).collect()
}
