//! The dry run as text.

use manometer_analysis::forecast::Forecast;
use manometer_analysis::needed_length::duration as rounded;
use manometer_experiment::definition::format_settings;
use manometer_experiment::isolate;
use manometer_experiment::queue::PlannedRun;
use manometer_experiment::queue::cost::{RunCost, SetCost};
use manometer_measure::{Plan, human};

use super::DryRunReport;
use crate::text::{findings, phases};
use crate::{number, preparation};

/// The resolved files with their phases, the preparations, then the cost and the findings.
pub(super) fn text(report: &DryRunReport<'_>) -> String {
    let dry = &report.dry_run;
    let mut parts = vec![runs_text(dry.runs, &dry.plans)];
    let preparations = dry.preparations();
    for one in preparations.iter().filter(|one| !one.steps.is_empty() || !one.budgets.is_empty()) {
        let directory = &one.first.directory;
        let place = if preparations.len() > 1 { directory.display().to_string() + ": " } else { String::new() };
        parts.push(format!("\n{place}{}", preparation::text(directory, &one.budgets, one.ledger, &one.steps)));
    }
    let by_workers = preparations.iter().map(|one| one.by_workers_bytes).sum();
    let costs = costs_text(dry.runs.len(), &dry.costs, by_workers, dry.write_speed);
    let forecast = report.forecast.as_ref().map(forecast_text).unwrap_or_default();
    parts.push(format!("\n{costs}\n{}{forecast}{}", silence_text(dry.runs), findings(&dry.findings)));
    parts.join("\n")
}

/// How wide the intervals will be, and how long the run has to be, in a line.
fn forecast_text(forecast: &Forecast) -> String {
    let note = notes(forecast);
    let planned = match forecast.rounds {
        Some(rounds) => format!("{rounds} rounds"),
        None => format!("phases of {}", number::duration(forecast.phase_s)),
    };
    let without: Vec<&str> =
        forecast.phases.iter().filter(|phase| phase.width.is_none()).map(|phase| phase.id.as_str()).collect();
    let widest = forecast.phases.iter().filter_map(|phase| Some((phase.width?, &phase.id)));
    let widest = widest.max_by(|one, other| one.0.total_cmp(&other.0));
    let now = match (without.is_empty(), widest) {
        (false, _) => format!("{planned} are too short for a confidence interval in {}", without.join(", ")),
        (true, Some((width, id))) => {
            format!("with {planned} the widest interval of a pressure is about {width:.2} wide ({id})")
        }
        (true, None) if forecast.reason.is_none() => {
            return format!("{note}\nThe earlier recording has no pressure to estimate from.");
        }
        (true, None) => return note,
    };
    format!("{note}\nIf the noise is as in the earlier recording, {now}{}.", advice(forecast))
}

/// How the earlier recording differs from the plan, a line each.
fn notes(forecast: &Forecast) -> String {
    let differs = (!forecast.differences.is_empty()).then(|| {
        let differences = forecast.differences.join("; ");
        format!("\nwarning: the earlier recording differs from the plan, and its noise may: {differences}.")
    });
    let lacks = (!forecast.missing.is_empty() && !forecast.phases.is_empty()).then(|| {
        format!("\nNothing is estimated for {}: the earlier recording does not have them.", forecast.missing.join(", "))
    });
    let reason = forecast.reason.as_ref().map(|reason| format!("\nEarlier recording: {reason}."));
    [differs, lacks, reason].into_iter().flatten().collect()
}

/// `; for 0.10 in w3, which needs most, in four of five runs, run about 40 rounds`, where that is more than planned.
fn advice(forecast: &Forecast) -> String {
    let needed_s = forecast.needed_s.filter(|needed_s| *needed_s > forecast.phase_s);
    let length = match (needed_s, forecast.needed_rounds) {
        (None, _) => return String::new(),
        (Some(_), Some(rounds)) => format!("run about {rounds} rounds"),
        (Some(needed_s), None) => format!("run each phase for about {}", rounded(needed_s)),
    };
    let most = forecast.phases.iter().find(|phase| phase.needed_s == forecast.needed_s);
    most.map_or_else(String::new, |phase| {
        let (width, id) = (phase.needed_width, &phase.id);
        format!("; for {width:.2} in {id}, which needs most, in four of five runs, {length}")
    })
}

fn runs_text(runs: &[PlannedRun], plans: &[Plan]) -> String {
    let mut parts = Vec::new();
    let mut shown = None;
    for (run, plan) in runs.iter().zip(plans) {
        let experiment = &run.experiment;
        // The runs of a file are adjacent.
        if shown != Some(run.file) {
            shown = Some(run.file);
            parts.push(format!("# {}, resolved:\n\n{}", experiment.name, experiment.to_toml()));
            parts.push(phases(plan));
            let isolation = isolate::describe(experiment);
            if !isolation.is_empty() {
                parts.push(format!("\nIsolation:\n  {}", isolation.join("\n  ")));
            }
        }
    }
    if runs.len() > 1 {
        parts.push("\nRuns, each with these phases:".to_owned());
    }
    let has_several_files = runs.iter().any(|run| run.file > 0);
    for (index, run) in runs.iter().enumerate().filter(|_| runs.len() > 1) {
        let of = if has_several_files { format!("{}: ", run.experiment.name) } else { String::new() };
        parts.push(format!("{:4}  {of}{}", index + 1, settings_of(run)));
    }
    parts.join("\n")
}

fn settings_of(run: &PlannedRun) -> String {
    let swept = format_settings(&run.experiment.swept);
    match (run.combination, run.repeat) {
        (None, repeat) => format!("reference, repeat {repeat}"),
        (Some(_), 1) => swept,
        (Some(_), repeat) if swept.is_empty() => format!("repeat {repeat}"),
        (Some(_), repeat) => format!("{swept}, repeat {repeat}"),
    }
}

fn costs_text(
    runs: usize,
    SetCost { min: least, max: most, .. }: &SetCost,
    by_workers: u64,
    speed: Option<f64>,
) -> String {
    let copies = if runs > 1 { format!(" in {runs} runs") } else { String::new() };
    let time = if least == most {
        duration(least.seconds)
    } else {
        format!("{} to {}, until confidence intervals are narrow,", duration(least.seconds), duration(most.seconds))
    };
    let prepared = if least.prepared_bytes == most.prepared_bytes {
        human::bytes(least.prepared_bytes)
    } else {
        format!("{} to {}", human::bytes(least.prepared_bytes), human::bytes(most.prepared_bytes))
    };
    let settling = if most.settle_s > 0.0 {
        format!(", and at most {} of settling before them", duration(most.settle_s))
    } else {
        String::new()
    };
    let by_runs = match by_workers {
        0 => String::new(),
        all if all == least.prepared_bytes && all == most.prepared_bytes => {
            ", all of it by the runs themselves as they create their data".to_owned()
        }
        bytes => format!(" in total, {} of it by the runs themselves as they create their data", human::bytes(bytes)),
    };
    format!(
        "{time} of phases{copies}{settling}, without creating data and up to one sample interval per phase.\n\
         Preparation writes {prepared}{by_runs}.\n{}",
        written_text(most, speed)
    )
}

/// After how long without a sign of life a run fails: the longest of all.
fn silence_text(runs: &[PlannedRun]) -> String {
    let longest = runs.iter().map(|run| run.experiment.silence).max();
    let text = |limit| {
        format!("A run fails when a worker sends nothing, or the device answers nothing, for {limit} (`silence`).")
    };
    longest.map(text).unwrap_or_default()
}

fn written_text(cost: &RunCost, speed: Option<f64>) -> String {
    let bytes = |bytes: f64| human::bytes(bytes as u64);
    match speed {
        _ if cost.unbounded_s == 0.0 => format!(
            "Workloads write about {} while they run, without what file system and device add.",
            bytes(cost.written_bytes)
        ),
        None => format!(
            "Workloads write without bound for {} of the time: the amount depends on the device. `rate` bounds it, and \
             `--write-speed` estimates the maximum.",
            duration(cost.unbounded_s)
        ),
        Some(speed) => format!(
            "Workloads write at most {} while they run: {} at {}/s without pause, and {} at a bounded rate.",
            bytes(cost.max_written_bytes(speed)),
            duration(cost.unbounded_s),
            bytes(speed),
            bytes(cost.written_bytes),
        ),
    }
}

/// A duration, a long one in hours too.
fn duration(seconds: f64) -> String {
    let hours = seconds / 3600.0;
    if hours < 2.0 { number::duration(seconds) } else { format!("{hours:.1} h ({})", number::duration(seconds)) }
}
