//! The main result in a sentence that claims no more than its interval.

use manometer_measure::Grade;
use serde::Serialize;

use super::decomposition::{ComparedResult, Decomposition, EXACT};
use super::estimate::Estimate;

/// A sentence, and what it may be used for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GradedSentence {
    /// The sentence.
    pub text: String,
    /// What it may be used for.
    pub grade: Grade,
}

/// The difference of the Zipf load from the trace on the exactly simulated cache where it is largest, among those with an
/// interval if there are any.
pub fn headline(decompositions: &[Decomposition]) -> GradedSentence {
    let exact = decompositions.iter().filter(|one| one.on == EXACT && one.result == ComparedResult::MissRatio);
    let known = exact.filter(|one| one.difference.mean.is_some());
    let rank = |one: &&Decomposition| (one.difference.ci_low.is_some(), one.difference.mean.unwrap_or(0.0).abs());
    let largest = known.max_by(|one, other| {
        let (one, other) = (rank(one), rank(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    });
    let Some(largest) = largest else {
        return GradedSentence {
            text: "Nothing can be compared: nothing was simulated.".to_owned(),
            grade: Grade::Void,
        };
    };
    GradedSentence { text: sentence(largest), grade: largest.grade }
}

fn sentence(one: &Decomposition) -> String {
    let cache = percent_of(one.cache.unwrap_or(0.0));
    let mean = one.difference.mean.unwrap_or(0.0);
    let parts: Vec<String> = one
        .effects
        .iter()
        .map(|effect| format!("{} {}", effect.property.name(), signed_points(&effect.change)))
        .collect();
    let of = format!("on an LRU cache of {cache} of all data");
    let parts = parts.join(", ");
    if one.difference.ci_low.is_none() {
        let why = one.difference.reason.unwrap_or("no interval is known");
        let difference = more_or_fewer(mean);
        return format!(
            "Zipf-distributed keys miss {difference} than these requests of the trace {of}, of which {parts}; other requests may differ, because {why}."
        );
    }
    if !one.difference.is_significant() {
        return format!(
            "Zipf-distributed keys and the trace are not shown to differ {of}: {} points of miss ratio, of which {parts}.",
            signed_points(&one.difference)
        );
    }
    let marked = if one.grade == Grade::Sound { "" } else { " As an indication only." };
    format!(
        "Zipf-distributed keys miss {} ({}) than the trace {of}, of which {parts}.{marked}",
        more_or_fewer(mean),
        interval(&one.difference, mean < 0.0)
    )
}

/// `15.8 points more`.
fn more_or_fewer(difference: f64) -> String {
    let points = 100.0 * difference.abs();
    format!("{points:.1} points {}", if difference < 0.0 { "less" } else { "more" })
}

/// `15.2 to 16.4`, of the absolute difference where it is negative.
fn interval(of: &Estimate, is_negative: bool) -> String {
    let (low, high) = (100.0 * of.ci_low.unwrap_or(0.0), 100.0 * of.ci_high.unwrap_or(0.0));
    if is_negative { format!("{:.1} to {:.1}", -high, -low) } else { format!("{low:.1} to {high:.1}") }
}

/// `+17.7 (17.1 to 18.3)`.
pub fn signed_points(of: &Estimate) -> String {
    let Some(mean) = of.mean else { return "unknown".to_owned() };
    let interval =
        of.ci_low.zip(of.ci_high).map(|(low, high)| format!(" ({:+.1} to {:+.1})", 100.0 * low, 100.0 * high));
    format!("{:+.1}{}", 100.0 * mean, interval.unwrap_or_default())
}

fn percent_of(share: f64) -> String {
    let percent = 100.0 * share;
    if percent.fract().abs() < 1e-9 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}
