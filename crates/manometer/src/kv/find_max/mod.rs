//! `manometer kv --find-max`: the results of the search.

mod json;
mod page;
mod text;

pub(super) use json::document;
pub(super) use page::page;
pub(super) use text::{rate_text, text};

/// The rule of the search, for people and machines.
pub(super) const RULE: &str = "From the throughput of a closed loop the rate is halved or doubled, then bisected until a \
    rate that meets the goal in most of its trials and one that misses it are within 5 %. Each then gets up to nine \
    trials, and lower and higher ones where that does not decide: a rate is shown to meet or to miss the goal by a \
    binomial test at 5 % against meeting it in half of all trials, the first left out. The interval of the capacity is \
    from the highest rate shown to meet the goal to the lowest shown to miss it.";
