//! `manometer kv --find-max`: the results of the search.

mod json;
mod page;
mod text;

pub(super) use json::document;
use manometer_session::find_max::FindMax;
pub(super) use page::page;
pub(super) use text::{rate_text, text};

/// Whether any rate meets the goal.
///
/// # Errors
/// The workload refused a rate, or the search was interrupted.
pub(super) fn is_met(search: &FindMax<'_>) -> anyhow::Result<bool> {
    if let Some(reason) = &search.refused {
        anyhow::bail!("{reason}");
    }
    search.answer.map(|answer| answer.is_some()).ok_or_else(|| anyhow::anyhow!("stopped before the end of the search"))
}
