//! What the doctor found.

use legwork_shared::fault::Fault;
use legwork_shared::job::JobState;
use serde::Serialize;

use crate::output::{dim, paint_job_state, without_controls};

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// In order.
    Fine,
    /// It works, but somebody should know.
    Warning,
    /// Work cannot be done.
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub subject: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// What was found.
    pub detail: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Finding {
    /// It is in order.
    pub fn fine(subject: &'static str, detail: impl Into<String>) -> Self {
        Self {
            subject,
            severity: Severity::Fine,
            detail: detail.into(),
            help: None,
        }
    }

    /// It works, but somebody should know.
    pub fn warning(subject: &'static str, detail: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            help: Some(help.into()),
            ..Self::fine(subject, detail)
        }
    }

    /// Work cannot be done.
    pub fn problem(subject: &'static str, detail: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            severity: Severity::Problem,
            ..Self::warning(subject, detail, help)
        }
    }

    /// A fault that a command would have met.
    pub fn fault(subject: &'static str, fault: &Fault) -> Self {
        let place = fault
            .place
            .as_ref()
            .map(|place| format!("{place}: "))
            .unwrap_or_default();
        Self::problem(
            subject,
            format!("{}: {place}{}", fault.code, fault.message),
            fault.help.clone(),
        )
    }
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether work can be done.
    pub ok: bool,
    /// In the order in which it was looked at.
    pub findings: Vec<Finding>,
}

impl Report {
    /// The report of `findings`.
    #[must_use]
    pub fn new(findings: Vec<Finding>) -> Self {
        Self {
            ok: findings.iter().all(|finding| finding.severity != Severity::Problem),
            findings,
        }
    }

    /// A line for each finding, and what to do below it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let mark = match finding.severity {
                Severity::Fine => paint_job_state(JobState::Succeeded, "✓"),
                Severity::Warning => paint_job_state(JobState::Scheduled, "!"),
                Severity::Problem => paint_job_state(JobState::Failed, "✗"),
            };
            text += &format!("{mark} {:<14} {}\n", finding.subject, without_controls(&finding.detail));
            if let Some(help) = &finding.help {
                text += &format!("{:17}{} {}\n", "", dim("help:"), without_controls(help));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use legwork_shared::fault::Code;

    use super::*;

    #[test]
    fn a_report_is_only_in_order_without_problems() {
        let fault = Fault::new(
            Code::StoreReadOnly,
            "the store is read-only",
            "give yourself write access",
        )
        .at("a.db");
        let fine = Finding::fine("agents", "6 agents are known");
        let warning = Finding::warning("model", "none is configured", "set OPENAI_API_KEY");
        assert!(Report::new(vec![fine.clone(), warning.clone()]).ok);
        let report = Report::new(vec![fine, warning, Finding::fault("store", &fault)]);
        assert!(!report.ok);
        insta::assert_snapshot!(strip_str(&report.text()), @r"
        ✓ agents         6 agents are known
        ! model          none is configured
                         help: set OPENAI_API_KEY
        ✗ store          LW0403: a.db: the store is read-only
                         help: give yourself write access
        ");
    }
}
