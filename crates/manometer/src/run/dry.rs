//! What would run, how long it takes and what it writes; nothing is started.

use std::collections::BTreeSet;
use std::path::PathBuf;

use manometer_experiment::experiment::format_settings;
use manometer_experiment::prepare::ledger::{LedgerEntries, LedgerError};
use manometer_experiment::prepare::steps::PrepareStep;
use manometer_experiment::queue::cost::{Ledgers, RunCost, SetCost, read_ledgers};
use manometer_experiment::queue::{PlannedRun, unlike_states};
use manometer_experiment::{Experiment, isolate, plan};
use manometer_measure::event::Finding;
use manometer_measure::human;
use manometer_measure::{ByteSize, Plan};
use serde_json::{Value, json};

use super::Arguments;
use crate::format::{self, Format};
use crate::prepare::{outline, outline_json};
use crate::table;

/// Prints `all` runs and what they cost.
pub(super) fn run(arguments: &Arguments, all: &[PlannedRun]) -> anyhow::Result<()> {
    let dry = DryRun::of(all, arguments.reuse, arguments.write_speed)?;
    match arguments.format {
        Format::Json => format::json(&dry.document()),
        Format::Text => dry.show(),
    }
}

/// What would run, and what it costs.
struct DryRun<'a> {
    all: &'a [PlannedRun],
    plans: Vec<Plan>,
    books: Ledgers,
    costs: SetCost,
    findings: Vec<Finding>,
    /// What the device writes, where somebody said so, in bytes a second.
    speed: Option<f64>,
}

/// What is to be prepared in one device directory, for all runs there.
struct Preparation<'a> {
    first: &'a Experiment,
    book: &'a LedgerEntries,
    steps: Vec<PrepareStep>,
    by_workers_bytes: u64,
    /// Each once.
    budgets: Vec<ByteSize>,
}

impl<'a> DryRun<'a> {
    fn of(all: &'a [PlannedRun], reuse: bool, speed: Option<f64>) -> Result<Self, LedgerError> {
        let books = read_ledgers(all)?;
        let costs = SetCost::estimate(all, &books, reuse);
        let mut findings = unlike_states(all);
        findings.extend(costs.over_budget(all, &books, speed));
        for known in all.iter().flat_map(|run| &run.experiment.findings) {
            if !findings.contains(known) {
                findings.push(known.clone());
            }
        }
        let plans = all.iter().map(|run| plan::plan(&run.experiment)).collect();
        Ok(Self { all, plans, books, costs, findings, speed })
    }

    fn preparations(&self) -> Vec<Preparation<'_>> {
        let of_directory = |(directory, book): (&PathBuf, _)| {
            let own = || self.all.iter().map(|run| &run.experiment).zip(&self.costs.preparations);
            let own = || own().filter(move |(run, _)| run.directory == *directory);
            let budgets: BTreeSet<ByteSize> = own().filter_map(|(run, _)| run.write_budget).collect();
            Some(Preparation {
                first: own().next()?.0,
                book,
                steps: own().flat_map(|(_, preparing)| preparing.steps.iter().cloned()).collect(),
                by_workers_bytes: own().map(|(_, preparing)| preparing.by_workers_bytes).sum(),
                budgets: budgets.into_iter().collect(),
            })
        };
        self.books.iter().filter_map(of_directory).collect()
    }

    fn document(&self) -> Value {
        let run = |((run, plan), cost): ((&PlannedRun, &Plan), &RunCost)| {
            let experiment = &run.experiment;
            json!({
                "settings": experiment.swept, "experiment": experiment.resolved, "plan": plan,
                "repeat": run.repeat, "reference": run.combination.is_none(),
                "duration_s": plan.duration_s(), "bytes_to_prepare": cost.prepared_bytes,
                "isolation": isolate::describe(experiment),
            })
        };
        let SetCost { min: least, max: most, .. } = &self.costs;
        let bounded = (most.unbounded_s == 0.0).then_some(most.written_bytes);
        let written = bounded.or_else(|| self.speed.map(|speed| most.max_written_bytes(speed)));
        let preparation = |one: &Preparation<'_>| {
            let mut told = outline_json(&one.first.directory, &one.budgets, one.book, &one.steps);
            told["directory"] = json!(one.first.directory);
            told["bytes_by_runs"] = one.by_workers_bytes.into();
            told
        };
        let runs = self.all.iter().zip(&self.plans).zip(&self.costs.runs);
        let mut document = json!({
            "runs": runs.map(run).collect::<Vec<_>>(),
            "preparations": self.preparations().iter().map(preparation).collect::<Vec<_>>(),
            "duration_s": least.seconds, "duration_s_at_most": most.seconds, "settle_s_at_most": most.settle_s,
            "bytes_to_prepare": least.prepared_bytes, "bytes_to_prepare_at_most": most.prepared_bytes,
            "bytes_written_at_most": written,
            "findings": self.findings,
        });
        if written.is_none() {
            document["reason"] = UNBOUNDED.into();
        }
        document
    }

    fn show(&self) -> anyhow::Result<()> {
        show_runs(self.all, &self.plans)?;
        let preparations = self.preparations();
        for one in preparations.iter().filter(|one| !one.steps.is_empty() || !one.budgets.is_empty()) {
            let place =
                if preparations.len() > 1 { one.first.directory.display().to_string() + ": " } else { String::new() };
            format::text(&format!("\n{place}{}", outline(&one.first.directory, &one.budgets, one.book, &one.steps)))?;
        }
        let by_workers = preparations.iter().map(|one| one.by_workers_bytes).sum();
        let findings = table::findings(&self.findings);
        format::text(&format!("\n{}{findings}", costs_text(self.all.len(), &self.costs, by_workers, self.speed)))
    }
}

const UNBOUNDED: &str = "unbounded: what workloads write while they run depends on the device; `rate` bounds it, and \
    `--write-speed` estimates it";

fn show_runs(all: &[PlannedRun], plans: &[Plan]) -> anyhow::Result<()> {
    let mut shown = None;
    for (run, plan) in all.iter().zip(plans) {
        let experiment = &run.experiment;
        // The runs of a file come together.
        if shown != Some(run.file) {
            shown = Some(run.file);
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
    let several = all.iter().any(|run| run.file > 0);
    for (index, run) in all.iter().enumerate().filter(|_| all.len() > 1) {
        let of = if several { format!("{}: ", run.experiment.name) } else { String::new() };
        format::text(&format!("{:4}  {of}{}", index + 1, settings_of(run)))?;
    }
    Ok(())
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
        format!("{} to {}, until intervals are narrow,", duration(least.seconds), duration(most.seconds))
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
        bytes => format!(" in all, {} of it by the runs themselves, as they make their data", human::bytes(bytes)),
    };
    format!(
        "{time} of phases{copies}{settling}, making data and up to one sample interval a phase aside.\n\
         Preparing writes {prepared}{by_runs}.\n{}",
        written_text(most, speed)
    )
}

fn written_text(cost: &RunCost, speed: Option<f64>) -> String {
    let bytes = |bytes: f64| human::bytes(bytes as u64);
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
            bytes(cost.max_written_bytes(speed)),
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
