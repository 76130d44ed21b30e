//! The words by which an aspect is asked for and by which a sentence speaks of it, in English and Chinese.
//!
//! English words are compared by their stems, so one form of each is enough.

use std::sync::LazyLock;

use super::question::Aspect;
use crate::docs::words::stem;

/// The words of one aspect; English ones as stems.
#[derive(Debug)]
pub struct Cues {
    /// The aspect.
    pub aspect: Aspect,
    /// Words of a question that ask for it.
    pub asked: Vec<String>,
    /// Phrases of a Chinese question that ask for it, longer ones first.
    pub asked_chinese: Vec<&'static str>,
    /// Words that name it: a sentence or heading with one of them speaks of the aspect.
    pub strong: Vec<String>,
    /// Chinese phrases that name it.
    pub strong_chinese: Vec<&'static str>,
    /// Words that name it in a heading, and mean something else too often to do so in a sentence.
    pub headings: Vec<String>,
    /// Words that hint at it, and count only beside something stronger.
    pub weak: Vec<String>,
    /// Chinese phrases that hint at it.
    pub weak_chinese: Vec<&'static str>,
}

/// Every aspect that a question can name.
pub static LEXICON: LazyLock<Vec<Cues>> = LazyLock::new(|| WORDS.iter().map(Words::cues).collect());

/// The words of an aspect; the whole has none.
#[must_use]
pub fn cues(aspect: Aspect) -> Option<&'static Cues> {
    LEXICON.iter().find(|cues| cues.aspect == aspect)
}

/// The same as [`Cues`], with each list as one text so that it can be read.
struct Words {
    aspect: Aspect,
    asked: &'static str,
    asked_chinese: &'static str,
    strong: &'static str,
    strong_chinese: &'static str,
    headings: &'static str,
    weak: &'static str,
    weak_chinese: &'static str,
}

impl Words {
    fn cues(&self) -> Cues {
        let list = |words: &'static str| words.split_whitespace().collect();
        let stems = |words: &'static str| words.split_whitespace().map(stem).collect();
        Cues {
            aspect: self.aspect,
            asked: stems(self.asked),
            asked_chinese: list(self.asked_chinese),
            strong: stems(self.strong),
            strong_chinese: list(self.strong_chinese),
            headings: stems(self.headings),
            weak: stems(self.weak),
            weak_chinese: list(self.weak_chinese),
        }
    }
}

const WORDS: &[Words] = &[
    Words {
        aspect: Aspect::Advantages,
        asked: "advantage benefit pro strength upside merit plus",
        asked_chinese: "优缺点 利弊 优点 优势 好处 长处",
        strong: "advantage benefit strength strongest merit upside",
        strong_chinese: "优点 优势 好处 长处 擅长 益处",
        headings: "strong good gain",
        weak: "fast faster fastest cheap cheaper easy easier easily simple simpler simplify efficient reliable reliably robust \
               flexible convenient safe safer improve enable allow extend avoid support scale save speed free precise accurate \
               good better best help lower reduce possible",
        weak_chinese: "方便 更快 速度快 简单 灵活 可靠 稳健 提高 支持 降低 容易",
    },
    Words {
        aspect: Aspect::Drawbacks,
        asked: "drawback disadvantage con limitation weakness downside shortcoming pitfall limit problem",
        asked_chinese: "优缺点 利弊 缺点 劣势 局限性 局限 不足 弱点 坏处 短处",
        strong: "drawback disadvantage limitation weakness downside shortcoming pitfall caveat",
        strong_chinese: "缺点 劣势 局限 不足 弱点 坏处 不擅长",
        headings: "limit weak problem tradeoff issue fail failure bad",
        weak: "slow slower expensive cost cannot fail failure lose loss lost leak overhead poor poorly difficult hard harder \
               miss wrong error without complex worse incompatible lack degrade risk never suffer stale silently only hurt \
               worst approximate grow need fall danger unsafe leave limit weak problem",
        weak_chinese: "代价 较慢 变差 下降 漏掉 昂贵 成本高 困难 很难 不能 错误 占用 损害 负担 无法",
    },
    Words {
        aspect: Aspect::Risks,
        asked: "risk danger hazard threat",
        asked_chinese: "风险 危险 隐患",
        strong: "risk danger hazard threat unsafe vulnerable vulnerability",
        strong_chinese: "风险 危险 隐患",
        headings: "attack failure fail",
        weak: "fail failure leak lose loss lost attack silently expose wrong harm cannot",
        weak_chinese: "泄露 错误 丢失 失败 攻击 恶意",
    },
    Words {
        aspect: Aspect::Costs,
        asked: "cost price pricing expense budget fee",
        asked_chinese: "成本 费用 价格 开销",
        strong: "cost price expense expensive budget bill fee cheap cheaper pay paid",
        strong_chinese: "成本 费用 价格 代价 开销",
        headings: "plan",
        weak: "memory save money store storag time multiply double",
        weak_chinese: "内存 昂贵 便宜 节省",
    },
    Words {
        aspect: Aspect::Performance,
        asked: "performance speed latency throughput scalability efficiency",
        asked_chinese: "性能 速度 延迟 吞吐量 效率",
        strong: "performance speed latency throughput fast faster slow slower scale overhead",
        strong_chinese: "性能 速度 延迟 吞吐 效率",
        headings: "benchmark scalability",
        weak: "millisecond second time memory cache cpu parallel efficient quick quickly",
        weak_chinese: "毫秒 更快 较慢 耗时 内存",
    },
    Words {
        aspect: Aspect::Security,
        asked: "security privacy safety protection",
        asked_chinese: "安全性 安全 隐私",
        strong: "security secure privacy private attack attacker encrypt encryption permission leak vulnerability \
                 confidential protect protection sandbox unsafe",
        strong_chinese: "安全 隐私 泄露 攻击 加密 权限",
        headings: "safety tenant access",
        weak: "access tenant key secret sensitive personal trust control audit risk",
        weak_chinese: "保护 租户 恶意 风险 敏感",
    },
    Words {
        aspect: Aspect::Usage,
        asked: "usage install installation configure configuration setup",
        asked_chinese: "如何使用 使用方法 怎么用 用法 使用 安装 配置",
        strong: "usage install installation configure configuration",
        strong_chinese: "使用 安装 配置 用法 设置",
        headings: "start example guide setup quickstart",
        weak: "use run call create set enable should must default option command argument parameter recommend choose",
        weak_chinese: "应当 可以 需要 参数 建议",
    },
    Words {
        aspect: Aspect::Alternatives,
        asked: "alternative instead replacement substitut",
        asked_chinese: "替代方案 替代 代替",
        strong: "alternative instead replace replacement prefer substitut",
        strong_chinese: "替代 代替 不需要 不必 而不是",
        headings: "choose choice compar",
        weak: "enough sufficient choose choice rather simpler other",
        weak_chinese: "足够 够用 选择",
    },
    Words {
        aspect: Aspect::Definition,
        asked: "definition mean meaning define",
        asked_chinese: "定义 含义",
        strong: "mean define definition stand call known",
        strong_chinese: "是指 定义 称为 专门",
        headings: "introduction about basic concept",
        weak: "term kind type consist describe",
        weak_chinese: "一种",
    },
];

/// Words of a question that set things beside each other; as stems.
pub static COMPARISONS: LazyLock<Vec<String>> = LazyLock::new(|| {
    "compare comparison versus vs difference"
        .split_whitespace()
        .map(stem)
        .collect()
});

/// The same for Chinese.
pub const COMPARISONS_CHINESE: &[&str] = &["比较", "区别", "对比"];

/// How a question begins that asks what something is; lower case.
pub const DEFINITIONS: &[&str] = &["what is ", "what are ", "what's ", "what does "];

/// What follows the subject in a sentence that says what it is; as stems.
pub const DEFINING: &[&str] = &[
    "is", "are", "mean", "stand", "stor", "describ", "denot", "refer", "combin", "provid",
];

/// Words of a question that say how to answer, not what about; as stems.
pub static SCAFFOLD: LazyLock<Vec<String>> = LazyLock::new(|| SCAFFOLD_WORDS.split_whitespace().map(stem).collect());

const SCAFFOLD_WORDS: &str = "explain describe compare comparison summary summarize summarise overview list report research \
    write find main key important question answer document source show discuss analyze analyse analysis evaluate one get want \
    need know think make best difference versus vs detail brief briefly handle happen use using";

/// The same for Chinese, longer ones first.
pub const SCAFFOLD_CHINESE: &[&str] = &[
    "有哪些",
    "是什么",
    "为什么",
    "什么样",
    "怎么样",
    "请问",
    "什么",
    "哪些",
    "怎样",
    "为何",
    "请",
    "介绍",
    "说明",
    "解释",
    "分析",
    "比较",
    "区别",
    "对比",
    "总结",
    "概述",
    "主要",
    "以及",
    "关于",
    "研究",
    "报告",
    "写",
    "一下",
    "有",
];

/// Words that call a point the greatest one; as stems.
pub static SUPERLATIVES: LazyLock<Vec<String>> = LazyLock::new(|| {
    "main largest biggest greatest strongest chief primary key"
        .split_whitespace()
        .map(stem)
        .collect()
});

/// The same for Chinese.
pub const SUPERLATIVES_CHINESE: &[&str] = &["最大", "最主要", "第一个", "首要"];

/// Headings of sections that list, thank or license instead of saying something; lower case.
pub const APPARATUS: &[&str] = &[
    "references",
    "reference list",
    "sources",
    "bibliography",
    "further reading",
    "see also",
    "contents",
    "table of contents",
    "literature",
    "works cited",
    "acknowledgements",
    "acknowledgments",
    "authors",
    "contributors",
    "license",
    "licence",
    "copyright",
    "index",
    "links",
    "citations",
    "quellen",
    "literatur",
    "inhalt",
    "参考文献",
    "参考资料",
    "目录",
    "来源",
    "致谢",
    "许可证",
];

/// Phrases of licences and notices, lower case: the same in a thousand files, and about none of them.
pub const BOILERPLATE: &[&str] = &[
    "without warranty",
    "warranties",
    "permission is hereby",
    "redistribut",
    "all rights reserved",
    "copyright",
    "licensed under",
    "as is\"",
    "“as is”",
    "merchantability",
    "general public license",
    "sublicense",
    "liability",
    "apache license",
    "mit license",
    "gnu gpl",
    "the above notice",
];

/// What a document says of itself when it should not be relied on, lower case.
pub const CAVEATS: &[&str] = &[
    "synthetic",
    "fictional",
    "invented",
    "draft",
    "deprecated",
    "outdated",
    "obsolete",
    "out of date",
    "no longer maintained",
    "must not be cited",
    "work in progress",
    "虚构",
    "草稿",
    "过时",
    "仅供示例",
];

/// How a sentence refers to the document it stands in, lower case.
pub const SELF_REFERENCES: &[&str] = &[
    "this document",
    "this file",
    "this page",
    "this text",
    "this guide",
    "this article",
    "this logbook",
    "this package",
    "this crate",
    "this project",
    "本文",
    "本页",
    "本文件",
];

/// Words that limit what was said, lower case; each stands alone in a sentence.
pub const LIMITS: &[&str] = &[
    "however",
    "only if",
    "unless",
    "not always",
    "contrary",
    "misleading",
    "is wrong",
    "no guarantee",
    "depends on",
    "except",
    "but it",
    "even though",
    "needs the same",
    "必须注意",
    "需要注意",
    "但是",
    "然而",
    "是错误的",
    "否则",
    "除非",
];

/// Headings under which a document names what it leaves open, lower case.
pub const OPEN: &[&str] = &[
    "does not answer",
    "open question",
    "open questions",
    "future work",
    "not yet known",
    "not covered",
    "out of scope",
    "尚不清楚",
    "有待",
    "未解决",
];
