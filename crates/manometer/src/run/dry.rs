//! What would run, how long it takes and what it writes; nothing is started.

use manometer_experiment::prepare::ledger::{Book, LedgerError};
use manometer_experiment::prepare::steps::Step;
use manometer_experiment::queue::PlannedRun;
use manometer_experiment::queue::cost::{Cost, Costs};
use manometer_experiment::{Experiment, file, isolate, plan, prepare};
use manometer_measure::Plan;
use serde_json::{Value, json};

use super::Arguments;
use crate::format::{self, Format};
use crate::prepare::{outline, outline_json};
use crate::table;

/// Prints `all` runs and what they cost.
pub(super) fn run(arguments: &Arguments, all: &[PlannedRun]) -> anyhow::Result<()> {
    let plans: Vec<Plan> = all.iter().map(|run| plan::plan(&run.experiment)).collect();
    let (costs, speed) = (Costs::of(all), arguments.write_speed);
    let preparations = preparations(all, arguments.reuse)?;
    match arguments.format {
        Format::Json => format::json(&document(all, &plans, &preparations, &costs, speed))?,
        Format::Text => {
            show_runs(all, &plans)?;
            let asks = |one: &&Preparation<'_>| !one.steps.is_empty() || one.first.write_budget.is_some();
            for Preparation { first, book, steps } in preparations.iter().filter(asks) {
                let place =
                    if preparations.len() > 1 { first.directory.display().to_string() + ": " } else { String::new() };
                format::text(&format!("\n{place}{}", outline(first, book, steps)))?;
            }
            format::text(&format!("\n{}", costs_text(all.len(), &costs, speed)))?;
        }
    }
    Ok(())
}

/// What is to be prepared in one device directory, for all runs there.
struct Preparation<'a> {
    first: &'a Experiment,
    book: Book,
    steps: Vec<Step>,
}

fn preparations(all: &[PlannedRun], reuse: bool) -> Result<Vec<Preparation<'_>>, LedgerError> {
    let mut found: Vec<Preparation<'_>> = Vec::new();
    for first in all.iter().map(|run| &run.experiment) {
        if found.iter().any(|known| known.first.directory == first.directory) {
            continue;
        }
        let here = all.iter().map(|run| &run.experiment).filter(|run| run.directory == first.directory);
        let book = Book::read(&first.directory)?;
        let steps = prepare::outline(here, &book, reuse, false);
        found.push(Preparation { first, book, steps });
    }
    Ok(found)
}

fn document(
    all: &[PlannedRun],
    plans: &[Plan],
    preparations: &[Preparation<'_>],
    costs: &Costs,
    speed: Option<f64>,
) -> Value {
    let run = |(run, plan): (&PlannedRun, &Plan)| {
        let experiment = &run.experiment;
        json!({
            "settings": experiment.swept, "experiment": experiment.resolved, "plan": plan,
            "repeat": run.repeat, "reference": run.combination.is_none(),
            "duration_s": plan.duration_s(), "bytes_to_prepare": experiment.bytes_to_prepare().0,
            "isolation": isolate::describe(experiment),
        })
    };
    let Costs { least, most } = costs;
    let bounded = (most.unbounded_s == 0.0).then_some(most.written_bytes);
    let written = bounded.or_else(|| Some(written_at_most(most, speed?)));
    let preparation = |Preparation { first, book, steps }: &Preparation<'_>| outline_json(first, book, steps);
    let mut document = json!({
        "runs": all.iter().zip(plans).map(run).collect::<Vec<_>>(),
        "preparations": preparations.iter().map(preparation).collect::<Vec<_>>(),
        "duration_s": least.seconds, "duration_s_at_most": most.seconds,
        "bytes_to_prepare": least.prepared_bytes, "bytes_to_prepare_at_most": most.prepared_bytes,
        "bytes_written_at_most": written,
    });
    if written.is_none() {
        document["reason"] = UNBOUNDED.into();
    }
    document
}

const UNBOUNDED: &str = "unbounded: what workloads write while they run depends on the device; `rate` bounds it, and \
    `--write-speed` estimates it";

fn written_at_most(cost: &Cost, speed: f64) -> f64 {
    cost.written_bytes + cost.unbounded_s * speed
}

fn show_runs(all: &[PlannedRun], plans: &[Plan]) -> anyhow::Result<()> {
    let mut shown: Vec<&str> = Vec::new();
    for (run, plan) in all.iter().zip(plans) {
        let experiment = &run.experiment;
        if !shown.contains(&experiment.name.as_str()) {
            shown.push(&experiment.name);
            format::text(&format!("# {}, resolved:\n\n{}", experiment.name, experiment.to_toml()))?;
            format::text(&table::phases(plan))?;
            let isolation = isolate::describe(experiment);
            if !isolation.is_empty() {
                format::text(&format!("\nIsolation:\n  {}", isolation.join("\n  ")))?;
            }
        }
    }
    if all.len() > 1 {
        format::text("\nRuns, each with these phases:")?;
    }
    for (index, run) in all.iter().enumerate().filter(|_| all.len() > 1) {
        format::text(&format!("{:4}  {}", index + 1, settings_of(run)))?;
    }
    Ok(())
}

fn settings_of(run: &PlannedRun) -> String {
    let swept = file::settings_text(&run.experiment.swept);
    match (run.combination, run.repeat) {
        (None, repeat) => format!("reference, repeat {repeat}"),
        (Some(_), 1) => swept,
        (Some(_), repeat) if swept.is_empty() => format!("repeat {repeat}"),
        (Some(_), repeat) => format!("{swept}, repeat {repeat}"),
    }
}

fn costs_text(runs: usize, Costs { least, most }: &Costs, speed: Option<f64>) -> String {
    let copies = if runs > 1 { format!(" in {runs} runs") } else { String::new() };
    let time = if least == most {
        duration(least.seconds)
    } else {
        format!("{} to {}, until intervals are narrow,", duration(least.seconds), duration(most.seconds))
    };
    let prepared = if least.prepared_bytes == most.prepared_bytes {
        table::bytes(least.prepared_bytes)
    } else {
        format!("{} to {}", table::bytes(least.prepared_bytes), table::bytes(most.prepared_bytes))
    };
    format!(
        "{time} of phases{copies}, preparation and up to one sample interval a phase aside.\n\
         Preparing writes {prepared}.\n{}",
        written_text(most, speed)
    )
}

fn written_text(cost: &Cost, speed: Option<f64>) -> String {
    let bytes = |bytes: f64| table::bytes(bytes as u64);
    match speed {
        _ if cost.unbounded_s == 0.0 => format!(
            "What workloads write while they run is bounded: about {}, what file system and device add aside.",
            bytes(cost.written_bytes)
        ),
        None => format!(
            "What workloads write while they run is unbounded for {} of it: it depends on the device. `rate` bounds it, \
             and `--write-speed` estimates the most.",
            duration(cost.unbounded_s)
        ),
        Some(speed) => format!(
            "What workloads write while they run is at most {}: {} at {}/s without pause, and {} at a bounded rate.",
            bytes(written_at_most(cost, speed)),
            duration(cost.unbounded_s),
            bytes(speed),
            bytes(cost.written_bytes),
        ),
    }
}

/// A stretch of time; a long one in hours too.
fn duration(seconds: f64) -> String {
    let hours = seconds / 3600.0;
    if hours < 2.0 { table::duration(seconds) } else { format!("{hours:.1} h ({})", table::duration(seconds)) }
}
