//! How many phases of Storiks' logs have a confidence interval, by length, and how many steps their scales have.
//!
//! `cargo run --example phase_intervals -- LOG…` prints a line of tab-separated values for each log and a summary.

use std::io::Write as _;
use std::path::PathBuf;

use manometer_analysis::summarise;
use manometer_analysis::summary::{PhaseSummary, RunSummary};
use manometer_import::find_format;
use manometer_measure::Recording;
use manometer_measure::plan::PhaseKind;

/// The classes of phases by length, in seconds.
const CLASSES: [(&str, f64, f64); 3] =
    [("2 min", 100.0, 200.0), ("5 min", 270.0, 400.0), ("longer", 400.0, f64::INFINITY)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    let mut totals = [(0, 0); CLASSES.len()];
    let format = find_format("storiks").ok_or("the format is missing")?;
    writeln!(out, "recording\tphases\twith interval\tsteps\tuntested\tmedian width")?;
    for log in std::env::args_os().skip(1).map(PathBuf::from) {
        let folder = tempfile::tempdir()?;
        let Some(run) = format.read(std::slice::from_ref(&log))?.pop() else { continue };
        run.write(folder.path())?;
        let summary = summarise(&Recording::open(folder.path())?);
        for (total, (_, least_s, most_s)) in totals.iter_mut().zip(CLASSES) {
            let of_class = measured(&summary).filter(|phase| (least_s..most_s).contains(&length_s(phase)));
            for phase in of_class {
                *total = (total.0 + 1, total.1 + usize::from(has_interval(phase)));
            }
        }
        let phases = measured(&summary).count();
        let given = measured(&summary).filter(|phase| has_interval(phase)).count();
        let (steps, untested) = (summary.scale.len(), summary.untested.len());
        writeln!(out, "{}\t{phases}\t{given}\t{steps}\t{untested}\t{:.3}", log.display(), median_width(&summary))?;
    }
    for ((phases, given), (name, ..)) in totals.into_iter().zip(CLASSES) {
        writeln!(out, "phases of {name}: {given} of {phases} have an interval")?;
    }
    Ok(())
}

fn measured(summary: &RunSummary) -> impl Iterator<Item = &PhaseSummary> {
    summary.phases.iter().filter(|phase| phase.kind != PhaseKind::Solo && phase.performance.mean.is_some())
}

fn length_s(phase: &PhaseSummary) -> f64 {
    phase.start_s.zip(phase.end_s).map_or(0.0, |(start_s, end_s)| end_s - start_s)
}

fn has_interval(phase: &PhaseSummary) -> bool {
    phase.performance.ci_low.is_some()
}

/// The median of the intervals' widths, as shares of the means.
fn median_width(summary: &RunSummary) -> f64 {
    let width = |phase: &PhaseSummary| {
        let performance = &phase.performance;
        Some((performance.ci_high? - performance.ci_low?) / performance.mean.filter(|mean| *mean > 0.0)?)
    };
    let mut widths: Vec<f64> = measured(summary).filter_map(width).collect();
    widths.sort_by(f64::total_cmp);
    widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN)
}
