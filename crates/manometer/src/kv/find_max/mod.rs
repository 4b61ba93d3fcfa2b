//! `manometer kv --find-max`: the results of the search.

mod json;
mod page;
mod text;

pub(super) use json::document;
use manometer_session::find_max::FindMax;
pub(super) use page::page;
pub(super) use text::{rate_text, text};

/// The rule of the search, for people and machines.
pub(super) const RULE: &str = "From the throughput of a closed loop the rate is halved or doubled, then bisected until a \
    rate that meets the goal in most of its trials and one that misses it are within 5 %. Each then gets up to nine \
    trials, and lower and higher ones where that does not decide: a rate is shown to meet or to miss the goal by a \
    binomial test at 5 % against meeting it in half of all trials, the first left out. The interval of the capacity is \
    from the highest rate shown to meet the goal to the lowest shown to miss it.";

/// Whether a rate is shown to meet the goal; false where even the lowest is shown to miss it; `None` where neither is shown.
///
/// # Errors
/// The workload refused a rate, or the search was interrupted.
pub(super) fn is_met(search: &FindMax<'_>) -> anyhow::Result<Option<bool>> {
    if let Some(reason) = &search.refused {
        anyhow::bail!("{reason}");
    }
    let capacity = search.answer.ok_or_else(|| anyhow::anyhow!("stopped before the end of the search"))?;
    Ok(match (capacity.low, capacity.rate, capacity.high) {
        (Some(_), ..) => Some(true),
        (None, None, Some(_)) => Some(false),
        _ => None,
    })
}
