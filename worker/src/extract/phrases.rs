//! The report's own words, in each language that it speaks.

use super::question::{Aspect, Language};
use crate::docs::{Note, Why};

/// The fixed texts of a report.
#[derive(Debug)]
pub struct Phrases {
    pub untitled: &'static str,
    pub made_title: &'static str,
    pub findings: &'static str,
    pub agreements: &'static str,
    pub agreements_intro: &'static str,
    pub agreements_none: &'static str,
    pub same_figures: &'static str,
    pub disagreements: &'static str,
    pub disagreements_none: &'static str,
    pub limits: &'static str,
    pub gaps: &'static str,
    pub gaps_none: &'static str,
    pub sources: &'static str,
    pub nothing: &'static str,
    pub nothing_on_aspect: &'static str,
    pub also: &'static str,
    pub list_separator: &'static str,
}

const ENGLISH: Phrases = Phrases {
    untitled: "Report without a question",
    made_title: "How this report was made.",
    findings: "Findings",
    agreements: "Agreements",
    agreements_intro: "Points that several documents make, as far as the words that they share can tell:",
    agreements_none: "No point was found that several documents make in different words.",
    same_figures: "Figures on which documents agree",
    disagreements: "Disagreements",
    disagreements_none: "No two documents were found that give different figures for the same thing.",
    limits: "Limits and objections",
    gaps: "Gaps",
    gaps_none: "Every part of the question has findings, and every document was read.",
    sources: "Sources",
    nothing: "**The documents do not answer this question:** no sentence was found that bears on it.",
    nothing_on_aspect: "No sentence was found.",
    also: "the same sentence also stands in",
    list_separator: ", ",
};

const CHINESE: Phrases = Phrases {
    untitled: "没有问题的报告",
    made_title: "本报告的形成方式：",
    findings: "主要发现",
    agreements: "一致之处",
    agreements_intro: "多份文档提出的相近观点（仅依据它们共有的词语判断）：",
    agreements_none: "没有发现多份文档以不同说法表达的同一观点。",
    same_figures: "多份文档一致的数字",
    disagreements: "矛盾之处",
    disagreements_none: "没有发现两份文档对同一事物给出不同的数字。",
    limits: "限制与异议",
    gaps: "未解答的部分",
    gaps_none: "问题的每个部分都有发现，所有文档都已读取。",
    sources: "来源",
    nothing: "**这些文档没有回答这个问题：**没有找到相关的句子。",
    nothing_on_aspect: "没有找到相关的句子。",
    also: "同一句话还出现在",
    list_separator: "、",
};

impl Language {
    /// The fixed texts in this language.
    #[must_use]
    pub fn phrases(self) -> &'static Phrases {
        match self {
            Self::English => &ENGLISH,
            Self::Chinese => &CHINESE,
        }
    }

    /// The heading of an aspect.
    #[must_use]
    pub fn aspect(self, aspect: Aspect) -> &'static str {
        let (english, chinese) = match aspect {
            Aspect::Definition => ("What it is", "定义"),
            Aspect::Advantages => ("Advantages", "优点"),
            Aspect::Drawbacks => ("Drawbacks", "缺点"),
            Aspect::Risks => ("Risks", "风险"),
            Aspect::Costs => ("Costs", "成本"),
            Aspect::Performance => ("Performance", "性能"),
            Aspect::Security => ("Security and privacy", "安全与隐私"),
            Aspect::Usage => ("Usage", "使用"),
            Aspect::Alternatives => ("Alternatives", "替代方案"),
            Aspect::Whole => ("What the documents say", "文档的说法"),
        };
        self.pick(english, chinese)
    }

    /// How the report came about, with what was searched.
    #[must_use]
    pub fn made(self, documents: usize, sentences: usize, findings: usize) -> String {
        match self {
            Self::English => format!(
                "No language model was used. {} and {} were searched by words, and fixed rules chose {findings} \
                 findings. Text in quotation marks was copied from the documents word for word; the file and the \
                 line stand behind it. Nothing was summarised or judged, so read it as a guided tour of the sources.",
                counted(documents, "document", "documents"),
                counted(sentences, "sentence", "sentences"),
            ),
            Self::Chinese => format!(
                "没有使用语言模型。程序按词语检索了 {documents} 份文档中的 {sentences} 个句子，并按固定规则选出其中 {findings} 句。\
                 引号中的文字逐字摘自文档，其后注明文件和行号。报告没有概括，也没有评判，请把它当作阅读原文的向导。"
            ),
        }
    }

    /// The beginning of an agreement between findings with these numbers.
    #[must_use]
    pub fn agreement(self, numbers: &[usize], echoed: bool) -> String {
        let list: Vec<String> = numbers.iter().map(usize::to_string).collect();
        match (self, numbers.len() > 1, echoed) {
            (Self::English, true, true) => format!("Findings {} are close to each other, and to:", joined(&list)),
            (Self::English, true, false) => format!("Findings {} are close to each other.", joined(&list)),
            (Self::English, false, _) => format!("Close to finding {}:", list.join("")),
            (Self::Chinese, true, true) => format!("发现 {} 说法相近，并与下列说法相近：", list.join("、")),
            (Self::Chinese, true, false) => format!("发现 {} 说法相近。", list.join("、")),
            (Self::Chinese, false, _) => format!("与发现 {} 相近的说法：", list.join("")),
        }
    }

    /// That one document gives this figure.
    #[must_use]
    pub fn gives(self, file: &str, figure: &str) -> String {
        match self {
            Self::English => format!("`{file}` says {figure}:"),
            Self::Chinese => format!("`{file}` 给出 {figure}："),
        }
    }

    /// That an aspect has few findings or none.
    #[must_use]
    pub fn thin(self, aspect: Aspect, findings: usize) -> String {
        let name = self.aspect(aspect);
        match (self, findings) {
            (Self::English, 0) => format!("{name}: nothing was found."),
            (Self::English, _) => format!(
                "{name}: only {} found.",
                counted(findings, "sentence was", "sentences were")
            ),
            (Self::Chinese, 0) => format!("{name}：没有找到。"),
            (Self::Chinese, _) => format!("{name}：只找到 {findings} 句。"),
        }
    }

    /// That words of the question stand nowhere.
    #[must_use]
    pub fn missing(self, words: &str) -> String {
        match self {
            Self::English => format!("Words of the question that stand in no document: {words}."),
            Self::Chinese => format!("问题中没有在任何文档中出现的词：{words}。"),
        }
    }

    /// That a document itself says what it leaves open.
    #[must_use]
    pub fn stated(self) -> &'static str {
        self.pick("A document says itself what is open:", "文档自己说明了未解答的内容：")
    }

    /// That documents have nothing on the subject.
    #[must_use]
    pub fn silent(self, count: usize, names: &str) -> String {
        match self {
            Self::English => format!(
                "{} no word of the subject (another language counts as other words): {names}.",
                counted(count, "document has", "documents have")
            ),
            Self::Chinese => format!("{count} 份文档中没有出现问题的主题词（可能因为使用其他语言）：{names}。"),
        }
    }

    /// That files were not read, and why.
    #[must_use]
    pub fn unread(self, count: usize, why: &Why, names: &str) -> String {
        let why = self.why(why);
        match self {
            Self::English => format!(
                "{} not read ({why}): {names}.",
                counted(count, "file was", "files were")
            ),
            Self::Chinese => format!("{count} 个文件没有读取（{why}）：{names}。"),
        }
    }

    /// Behind the names that are listed: that there are more.
    #[must_use]
    pub fn and_more(self, more: usize) -> String {
        match self {
            Self::English => format!(" and {more} more"),
            Self::Chinese => format!(" 等，另有 {more} 个"),
        }
    }

    fn why(self, why: &Why) -> &'static str {
        let (english, chinese) = match why {
            Why::Binary => ("not text", "不是文本"),
            Why::Link => ("a symbolic link", "符号链接"),
            Why::Unreadable(_) => ("unreadable", "无法读取"),
            Why::Name => ("its name is not UTF-8", "文件名不是 UTF-8"),
            Why::TooMany => ("beyond the number of files that are read", "超过文件数量上限"),
            Why::TooLarge => ("beyond the size that is read", "超过总大小上限"),
        };
        self.pick(english, chinese)
    }

    /// What the reader should know of how a document was read.
    #[must_use]
    pub fn note(self, note: Note) -> String {
        match (self, note) {
            (Self::English, Note::NotUtf8) => "some bytes were not UTF-8 and were replaced".to_owned(),
            (Self::English, Note::Utf16) => "decoded from UTF-16".to_owned(),
            (Self::English, Note::Cut { bytes }) => format!("only its first {bytes} bytes were read"),
            (Self::Chinese, Note::NotUtf8) => "部分字节不是 UTF-8，已替换".to_owned(),
            (Self::Chinese, Note::Utf16) => "由 UTF-16 解码".to_owned(),
            (Self::Chinese, Note::Cut { bytes }) => format!("只读取了前 {bytes} 字节"),
        }
    }

    /// What a source contributed.
    #[must_use]
    pub fn contribution(self, quotes: usize, on_subject: usize) -> String {
        match self {
            Self::English => format!(
                "{} quoted, {} on the subject",
                counted(quotes, "sentence", "sentences"),
                counted(on_subject, "passage", "passages")
            ),
            Self::Chinese => format!("引用 {quotes} 句，与主题相关 {on_subject} 处"),
        }
    }

    /// That documents were read and not quoted.
    #[must_use]
    pub fn unquoted(self, count: usize, names: &str) -> String {
        match self {
            Self::English => format!(
                "Read but not quoted: {} ({names}).",
                counted(count, "document", "documents")
            ),
            Self::Chinese => format!("已读但未引用：{count} 份（{names}）。"),
        }
    }

    /// That a document warns of itself.
    #[must_use]
    pub fn warns(self) -> &'static str {
        self.pick("It says of itself:", "该文档自称：")
    }

    fn pick(self, english: &'static str, chinese: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn joined(numbers: &[String]) -> String {
    match numbers {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        one => one.concat(),
    }
}
