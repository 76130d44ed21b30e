//! The one form in which a fault is shown.

use clap::builder::styling::AnsiColor;
use legwork_shared::fault::Fault;

use super::{dim, strong, without_controls};

/// A fault as three lines: what, where, and what to do.
#[must_use]
pub fn fault_text(fault: &Fault) -> String {
    let red = AnsiColor::Red.on_default().bold();
    let mut text = format!(
        "{red}error[{}]{red:#}: {}\n",
        fault.code,
        strong(&without_controls(&fault.message))
    );
    if let Some(place) = &fault.place {
        text += &format!("  {} {}\n", dim("at"), without_controls(place));
    }
    text += &format!("  {} {}\n", dim("help:"), without_controls(&fault.help));
    text
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use legwork_shared::fault::Code;

    use super::*;

    #[test]
    fn a_fault_says_what_where_and_what_to_do() {
        let fault = Fault::new(
            Code::UnknownField,
            "`dependson` is not known here",
            "did you mean `depends_on`?",
        );
        insta::assert_snapshot!(strip_str(&fault_text(&fault.at("plan.yaml:4:5"))), @r"
        error[LW0104]: `dependson` is not known here
          at plan.yaml:4:5
          help: did you mean `depends_on`?
        ");
    }
}
