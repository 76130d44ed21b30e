//! The store on a server: whether it answers, and what it may lose.

use legwork_shared::store::redis::{RedisStore, Weight};

use super::Finding;
use crate::cli::base::Context;

const HELP: &str = "see ops/redis/redis.conf for a configuration that keeps everything";

/// What the server says about itself.
pub async fn findings(context: &Context, store: &RedisStore) -> Vec<Finding> {
    let place = &context.settings.store;
    let survey = match store.survey().await {
        Ok(survey) => survey,
        Err(error) => return vec![Finding::fault("store", &error.into())],
    };
    let fine = Finding::fine("store", format!("{place} answers: {}", survey.software()));
    let remarks = survey.remarks().into_iter().map(|remark| match remark.weight {
        Weight::Note => Finding::fine("durability", remark.text),
        Weight::Warning => Finding::warning("durability", remark.text, HELP),
        Weight::Refusal => Finding::problem("durability", remark.text, HELP),
    });
    std::iter::once(fine).chain(remarks).collect()
}
