//! The table of results: every phase with unit, interval and number of samples.

use std::fmt::Write as _;

use manometer_analysis::summary::{
    Fairness, IntervalEstimate, LatencySummary, MeanEstimate, NeededLength, PhaseSummary,
};
use manometer_measure::plan::{BetterDirection, PhaseKind, Settings};

use super::html::escape;
use crate::phase_spans::{gap_reason, missing_reason};
use crate::recording_reader::RecordingReader;
use crate::text;

const COLUMNS: [&str; 5] = ["Phase", "Performance", "Pressure", "p99 of the primary", "Neighbours"];

pub(super) fn section(reader: &RecordingReader, level: usize) -> String {
    let criterion = &reader.summary.criterion;
    let better = match criterion.better {
        BetterDirection::Higher => "more is better",
        BetterDirection::Lower => "less is better",
    };
    let parts = match reader.summary.interleaved {
        Some(_) => "blocks".to_owned(),
        None => format!("sample intervals of {}", text::seconds(reader.recording.plan.interval_s)),
    };
    let mut html = format!(
        "<section><h{level}>All phases</h{level}>\n<p class=\"caption\">Click a phase to highlight it in every chart. Performance is the {} of {} ({better}), as the \
         mean over the phase's {parts}.</p>\n",
        escape(&criterion.metric),
        reader.primary().map_or_else(|| "no primary".to_owned(), |primary| escape(&primary.name)),
    );
    html.push_str("<div class=\"box\"><table role=\"table\">\n<thead role=\"rowgroup\"><tr role=\"row\">");
    for column in COLUMNS {
        _ = write!(html, "<th role=\"columnheader\" scope=\"col\">{column}</th>");
    }
    html.push_str("</tr></thead>\n<tbody role=\"rowgroup\">\n");
    for phase in &reader.summary.phases {
        html.push_str(&row(reader, phase));
    }
    html.push_str("</tbody></table></div></section>\n");
    html
}

fn row(reader: &RecordingReader, phase: &PhaseSummary) -> String {
    let mut html = format!(
        "<tr role=\"row\" data-phase=\"{}\" data-spans=\"{}\"><th role=\"rowheader\" scope=\"row\">{}</th>",
        escape(&phase.id),
        stretches(phase),
        name(reader, phase)
    );
    if phase.start_s.is_none() {
        let absence = escape(&missing_reason(reader.recording, phase));
        let columns = COLUMNS.len() - 1;
        _ = writeln!(html, "<td role=\"cell\" colspan=\"{columns}\" class=\"gap\">{absence}</td></tr>");
        return html;
    }
    let cells = [
        performance(phase, gap_reason(reader.recording, &phase.id)),
        if reader.summary.is_baseline(phase) { own_pressure(&phase.pressure) } else { pressures(reader, phase) },
        latencies(phase),
        neighbours(phase),
    ];
    for (column, cell) in COLUMNS[1..].iter().zip(cells) {
        _ = write!(html, "<td role=\"cell\" data-column=\"{column}\"><div>{cell}</div></td>");
    }
    html.push_str("</tr>\n");
    html
}

/// When the phase was measured, in seconds: `12-42 60-90`.
fn stretches(phase: &PhaseSummary) -> String {
    let stretches = phase.stretches_s().into_iter().map(|(begin_s, end_s)| format!("{begin_s:.3}-{end_s:.3}"));
    stretches.collect::<Vec<_>>().join(" ")
}

/// The phase's id, by which it is highlighted on the whole page, and its settings.
fn name(reader: &RecordingReader, phase: &PhaseSummary) -> String {
    let settings = text::settings(&settings(reader, phase));
    let mut html = format!(
        "<button type=\"button\" class=\"pick\" aria-pressed=\"false\">{}</button><small>{}</small>",
        escape(&phase.id),
        escape(&phase.label)
    );
    if settings != phase.label && !settings.is_empty() {
        _ = write!(html, "<small class=\"settings\">{}</small>", escape(&settings));
    }
    html
}

/// The settings that the phase was measured with: not those of neighbours that it has not.
fn settings(reader: &RecordingReader, phase: &PhaseSummary) -> Settings {
    let mut settings = phase.settings.clone();
    if phase.kind == PhaseKind::Baseline {
        let is_of = |key: &str, name: &str| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        settings.retain(|key, _| !reader.recording.plan.neighbours().any(|neighbour| is_of(key, &neighbour.name)));
    }
    settings
}

/// A reason, where there is one.
fn reason_text(reason: Option<&str>) -> String {
    reason.map(|reason| format!("<small>{}</small>", escape(reason))).unwrap_or_default()
}

fn performance(phase: &PhaseSummary, gap: Option<&str>) -> String {
    let steady = match phase.steady {
        Some(true) => "<small>steady</small>",
        Some(false) => "<small class=\"care\">not steady</small>",
        None => "<small>steady state: not testable</small>",
    };
    let gap = gap.map(|reason| format!("<small class=\"care\">Incomplete: {}</small>", escape(reason)));
    estimate(&phase.performance, if phase.blocks.is_empty() { "sample" } else { "block" })
        + steady
        + &gap.unwrap_or_default()
}

/// A mean with unit, interval and samples; without an interval its quantiles, and why.
/// A mean with its interval, and how many parts, samples or blocks, it is of.
fn estimate(estimate: &MeanEstimate, part: &str) -> String {
    let unit = escape(&estimate.unit);
    let samples = text::counted(estimate.samples as u64, part);
    let Some(mean) = estimate.mean else {
        return format!("<b>{}</b>{}", text::NOT_MEASURED, reason_text(estimate.reason.as_deref()));
    };
    let mut html = format!("<b>{} {unit}</b>", text::number(mean));
    if let (Some(low), Some(high)) = (estimate.ci_low, estimate.ci_high) {
        let (low, high) = (text::number(low), text::number(high));
        _ = write!(html, "<small>95 % interval {low} to {high}</small><small>{samples}</small>");
        return html;
    }
    match estimate.quantiles {
        Some([low, _, median, _, high]) => {
            let (low, median, high) = (text::number(low), text::number(median), text::number(high));
            _ = write!(
                html,
                "<small>quantiles 5–95 %: {low} to {high}, median {median}</small><small>{samples}</small>"
            );
        }
        None => _ = write!(html, "<small>{samples}</small>"),
    }
    let reason = estimate.reason.as_deref().unwrap_or("the analysis gives no reason");
    _ = write!(html, "<small>no interval: {}</small>{}", escape(reason), needed(estimate.needed.as_ref()));
    html
}

/// How long the phases have to be.
fn needed(length: Option<&NeededLength>) -> String {
    length.map(|length| format!("<small>{}</small>", escape(&length.reason))).unwrap_or_default()
}

/// The pressure of `w0` against itself.
fn own_pressure(pressure: &IntervalEstimate) -> String {
    match pressure.value {
        Some(value) => format!("<b>{}</b><small>by definition</small>", text::pressure(value)),
        None => format!("<b>–</b>{}", reason_text(pressure.reason.as_deref())),
    }
}

/// The pressure by the criterion, followed by those by other metrics.
fn pressures(reader: &RecordingReader, phase: &PhaseSummary) -> String {
    let others = phase.pressures.iter().filter(|(metric, _)| **metric != reader.summary.criterion.metric);
    let others = others
        .map(|(metric, other)| format!("<span class=\"neighbour\">of {}</span>{}", escape(metric), pressure(other)));
    pressure(&phase.pressure) + &others.collect::<String>()
}

fn pressure(pressure: &IntervalEstimate) -> String {
    let Some(value) = pressure.value else {
        return format!("<b>–</b>{}", reason_text(pressure.reason.as_deref()));
    };
    let mut html = format!("<b>{}</b>", text::pressure(value));
    match (pressure.ci_low, pressure.ci_high) {
        (Some(low), Some(high)) => {
            let (low, high) = (text::pressure(low), text::pressure(high));
            _ = write!(html, "<small>95 % interval {low} to {high}</small>");
        }
        _ => {
            let reason = pressure.reason.as_deref().unwrap_or("the analysis gives no reason");
            _ = write!(html, "<small>no interval: {}</small>", escape(reason));
        }
    }
    html + &needed(pressure.needed.as_ref())
}

fn latencies(phase: &PhaseSummary) -> String {
    if phase.latency_us.is_empty() {
        return format!("<b>–</b><small>{}</small>", text::NOT_MEASURED);
    }
    let operation = |(name, latency): (&String, &LatencySummary)| {
        let value = latency.p99.map_or_else(|| text::NOT_MEASURED.to_owned(), text::latency);
        let requests = text::counted(latency.samples, "request");
        // Only in an open loop: in a closed one nothing is due before it is sent.
        let response =
            phase.response_us.get(name).and_then(|response| response.p99).map(|p99| {
                format!("<small>response time, from when they were due: <b>{}</b></small>", text::latency(p99))
            });
        format!("<b>{value}</b><small>{} · {requests}</small>{}", escape(name), response.unwrap_or_default())
    };
    phase.latency_us.iter().map(operation).collect()
}

fn neighbours(phase: &PhaseSummary) -> String {
    if phase.neighbours.is_empty() {
        return "<b>–</b>".to_owned();
    }
    let mut html = String::new();
    for (name, neighbour) in &phase.neighbours {
        _ = write!(
            html,
            "<span class=\"neighbour\">{}</span>{}",
            escape(name),
            estimate(&neighbour.performance, "sample")
        );
        if neighbour.pressure.value.is_some() {
            _ = write!(
                html,
                "<small>pressure on this neighbour, relative to its solo run:</small>{}",
                pressure(&neighbour.pressure)
            );
        }
    }
    html + &phase.fairness.as_ref().map(fairness).unwrap_or_default()
}

/// Who suffers how much, and how evenly.
fn fairness(fairness: &Fairness) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    let all = fairness.slowdown.iter().map(|(name, slowdown)| format!("{} {}", escape(name), number(*slowdown)));
    format!(
        "<small>slowdown relative to the solo run: {}; Jain's index {}</small>{}",
        all.collect::<Vec<_>>().join(", "),
        number(fairness.jain_index),
        reason_text(fairness.reason.as_deref())
    )
}
