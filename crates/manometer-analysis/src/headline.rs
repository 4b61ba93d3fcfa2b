//! One sentence for people: what the worst neighbour costs.

use manometer_measure::operation::is_background;
use manometer_measure::plan::Better;
use manometer_measure::{Event, PhaseKind, Recording};

use crate::criterion::{Metric, Percentile};
use crate::sources::Sources;
use crate::summarise::{Judged, baseline};

/// The sentence; the interval of the greatest pressure tells whether it differs from none.
pub(crate) fn headline(recording: &Recording, sources: &Sources, judged: &[Judged<'_>]) -> String {
    if recording.plan.primary().is_none() {
        return "No primary: this experiment judges nobody.".to_owned();
    }
    let who = primary_name(recording);
    let Some(alone) = baseline(judged) else {
        return format!("{who} was not measured without neighbours, so no pressure can be told.");
    };
    let under_pressure = judged.iter().filter(|one| one.phase.kind == PhaseKind::Pressure);
    let worst = under_pressure
        .filter_map(|one| Some((one.pressure.value?, one)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, one)| one);
    let Some(worst) = worst else {
        return format!("{who} reaches {} without neighbours; none was measured beside it.", amount(alone));
    };
    let what = keeps(recording, sources, &who, worst);
    let interval = worst.pressure.ci_low.zip(worst.pressure.ci_high);
    let helped = worst.pressure.value.is_some_and(|pressure| pressure < 0.0);
    match interval {
        Some((low, high)) if low <= 0.0 && 0.0 <= high => {
            format!("No neighbour costs {who} a share that can be told: even {what}.")
        }
        _ if helped => format!("No neighbour harms {who}: even {what}."),
        _ => format!("{}.", capitalised(&what)),
    }
}

/// "under writer.iodepth = 64 RocksDB keeps 31 % (±3) of its reads".
fn keeps(recording: &Recording, sources: &Sources, who: &str, worst: &Judged<'_>) -> String {
    let under = &worst.phase.label;
    let better = recording.plan.criterion.better;
    let value = worst.pressure.value.unwrap_or_default();
    let half_width = worst.pressure.ci_low.zip(worst.pressure.ci_high).map(|(low, high)| (high - low) / 2.0);
    match (Metric::of(&recording.plan.criterion), better) {
        (Ok(Metric::Latency { operation, percentile, .. }), _) => {
            let sure = half_width.map(|half| format!(" (±{})", figure(half))).unwrap_or_default();
            let times = figure(1.0 + value);
            format!(
                "under {under} the {} of {who}'s {operation} latency is {times} times{sure} what it is alone",
                name(percentile)
            )
        }
        (_, Better::Higher) => {
            let sure = half_width.map(|half| format!(" (±{})", figure(100.0 * half))).unwrap_or_default();
            format!(
                "under {under} {who} keeps {} %{sure} of its {}",
                figure(100.0 * (1.0 - value)),
                asked(recording, sources)
            )
        }
        (_, Better::Lower) => {
            let metric = &recording.plan.criterion.metric;
            format!("under {under} the {metric} of {who} is {} times what it is alone", figure(1.0 + value))
        }
    }
}

/// What the primary does: its one operation, or its throughput where it has several.
fn asked(recording: &Recording, sources: &Sources) -> String {
    let samples = recording.plan.primary().and_then(|primary| sources.samples(&primary.name));
    let columns = samples.map(|samples| samples.columns.iter().zip(&samples.values)).into_iter().flatten();
    let used = columns.filter(|(_, values)| values.iter().flatten().any(|requests| *requests > 0.0));
    let names = used.filter_map(|(column, _)| column.name.strip_suffix(".requests"));
    let operations: Vec<&str> = names.filter(|name| !is_background(name)).collect();
    match operations.as_slice() {
        [only] => format!("{}s", only.replace('_', "-")),
        _ => "throughput".to_owned(),
    }
}

fn name(percentile: Percentile) -> String {
    match percentile {
        Percentile::Quantile(share) => format!("{}th percentile", (share * 1000.0).round() / 10.0),
        Percentile::Longest => "maximum".to_owned(),
    }
}

/// The primary's engine as its makers write it, or the workload's name.
fn primary_name(recording: &Recording) -> String {
    let Some(primary) = recording.plan.primary() else { return String::new() };
    let engine = recording.events.iter().find_map(|line| match &line.event {
        Event::Ready { workload, facts } if *workload == primary.name => facts.get("engine")?.as_str(),
        _ => None,
    });
    match engine {
        Some("rocksdb") => "RocksDB".to_owned(),
        Some("null") => "the null engine".to_owned(),
        Some(other) => other.to_owned(),
        None => format!("`{}`", primary.name),
    }
}

fn amount(one: &Judged<'_>) -> String {
    let told = &one.performance.told;
    format!("{} {}", told.mean.map(figure).unwrap_or_default(), told.unit)
}

/// A number as short as it can honestly be: whole from 10 on, else with one or two places.
fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 9.95 => format!("{value:.0}"),
        size if size >= 0.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!([312.6, 31.2, 9.99, 3.04, 0.034].map(figure), ["313", "31", "10", "3.0", "0.03"]);
    }

    #[test]
    fn percentiles_have_names() {
        assert_eq!(name(Percentile::Quantile(0.999)), "99.9th percentile");
        assert_eq!(name(Percentile::Quantile(0.5)), "50th percentile");
    }
}
