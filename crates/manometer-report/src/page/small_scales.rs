//! The pressure scales of many runs, small and side by side. The page's script draws them.

use std::fmt::Write as _;

use manometer_analysis::summary::{PhaseSummary, RunSummary};
use manometer_measure::plan::PhaseKind;
use serde::Serialize;

use super::html::{escape, json};
use crate::AnalysedRecording;
use crate::table::Table;

/// A phase in the scale of its run.
#[derive(Serialize)]
struct ScalePhase<'a> {
    run: usize,
    phase: &'a str,
    label: &'a str,
    pressure: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

/// A small scale for each of `recordings` under its name, with its link; nothing where no phase has a pressure.
pub(super) fn section(recordings: &[AnalysedRecording], names: &[String], links: &[String]) -> String {
    let phases: Vec<ScalePhase> =
        recordings.iter().enumerate().flat_map(|(run, recorded)| scale(run, &recorded.summary)).collect();
    if phases.is_empty() {
        return String::new();
    }
    let mut html = format!(
        "<section class=\"chart\" aria-labelledby=\"scales\"><h2 id=\"scales\">Pressure scales</h2>\n\
         <p class=\"caption\">Each bar is one of {} phases, those of a run by pressure, on one axis for all runs: from 0, \
         no harm, to the largest. The thin line is the 95 % interval. Click a bar to highlight the phase of that name in \
         every run.</p>\n<div class=\"scales\">\n",
        phases.len()
    );
    for (run, (name, link)) in names.iter().zip(links).enumerate() {
        _ = writeln!(
            html,
            "<div class=\"scale\" data-run=\"{run}\"><a href=\"{}\">{}</a><div class=\"bars\"></div></div>",
            escape(link),
            escape(name)
        );
    }
    let data = json(&Table::of(&phases));
    html + "</div>\n<script type=\"application/json\" id=\"scale-phases\">" + &data + "</script></section>\n"
}

/// The phases with a pressure, the smallest first; those without an own pressure, such as `w0`, are left out.
fn scale(run: usize, summary: &RunSummary) -> Vec<ScalePhase<'_>> {
    let is_compared = |phase: &&PhaseSummary| phase.kind == PhaseKind::Pressure && phase.pressure.value.is_some();
    let mut phases: Vec<&PhaseSummary> = summary.phases.iter().filter(is_compared).collect();
    let value = |phase: &PhaseSummary| phase.pressure.value.unwrap_or(0.0);
    phases.sort_by(|left, right| value(left).total_cmp(&value(right)));
    let phases = phases.into_iter().map(|phase| ScalePhase {
        run,
        phase: &phase.id,
        label: &phase.label,
        pressure: phase.pressure.value,
        low: phase.pressure.ci_low,
        high: phase.pressure.ci_high,
    });
    phases.collect()
}
