//! Progress of a run: bars on a terminal, plain lines elsewhere, or JSON for another program.

use std::collections::HashMap;
use std::io::{IsTerminal as _, stderr};

use clap::ValueEnum;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use manometer_experiment::Experiment;
use manometer_experiment::progress::ProgressUpdate;

use crate::number::{latency, number};
use crate::output::{self, printable};

/// The steps of a bar: thousandths of its length.
const STEPS: u64 = 1000;

/// The format of progress on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ProgressFormat {
    /// Bars on a terminal, lines elsewhere.
    #[default]
    Text,
    /// One JSON object per event and line.
    Json,
}

/// Shows the updates of one run.
pub enum Progress {
    /// Bars that redraw themselves.
    Bars(Bars),
    /// A line per phase and per tenth of a preparation.
    Lines(Lines),
    /// A JSON object per update, and whether standard error is open.
    Json(bool),
}

impl Progress {
    /// Progress in this form; text is bars where standard error is a terminal, otherwise lines.
    pub fn new(experiment: &Experiment, form: ProgressFormat) -> Self {
        match form {
            ProgressFormat::Json => Self::Json(true),
            ProgressFormat::Text if stderr().is_terminal() => Self::Bars(Bars::new(experiment)),
            ProgressFormat::Text => Self::Lines(Lines::default()),
        }
    }

    /// Shows one update.
    pub fn show(&mut self, update: &ProgressUpdate<'_>) {
        match self {
            Self::Bars(bars) => bars.show(update),
            Self::Lines(lines) => lines.show(update),
            Self::Json(is_open) => {
                let was_open = std::mem::replace(is_open, output::event(update).is_ok());
                if was_open && !*is_open {
                    // The program that started the run has gone: interrupt the run.
                    let _ = signal_hook::low_level::raise(signal_hook::consts::SIGINT);
                }
            }
        }
    }

    /// Leaves the terminal as it was.
    pub fn finish(&self) {
        if let Self::Bars(bars) = self {
            // A closed terminal is not a failure.
            let _ = bars.all.clear();
        }
    }
}

/// One bar for the phase and one per workload.
pub struct Bars {
    all: MultiProgress,
    phase: ProgressBar,
    workloads: HashMap<String, ProgressBar>,
    phase_s: f64,
}

impl Bars {
    fn new(experiment: &Experiment) -> Self {
        let all = MultiProgress::new();
        let phase = all.add(ProgressBar::new(STEPS).with_style(style("{msg:40!} {bar:30} {prefix}")));
        let workloads = experiment
            .workloads()
            .map(|workload| {
                let bar = all.add(ProgressBar::new(STEPS).with_style(style("  {prefix:14!} {wide_msg}")));
                bar.set_prefix(workload.name.clone());
                bar.set_message("starting");
                (workload.name.clone(), bar)
            })
            .collect();
        Self { all, phase, workloads, phase_s: 0.0 }
    }

    fn set_message(&self, workload: &str, text: String) {
        if let Some(bar) = self.workloads.get(workload) {
            bar.set_message(text);
        }
    }

    fn show(&mut self, update: &ProgressUpdate<'_>) {
        match update {
            ProgressUpdate::Preparing { workload, what, done, total } => {
                self.phase.set_message("preparing");
                self.set_message(workload, format!("{what} {:.0} %", percent(*done, *total)));
            }
            ProgressUpdate::Ready { workload } => self.set_message(workload, "ready".to_owned()),
            ProgressUpdate::Phase { id, label, seconds } => {
                self.phase_s = *seconds;
                self.phase.set_position(0);
                self.phase.set_message(format!("{id}  {label}"));
                self.workloads.values().for_each(|bar| bar.set_message("idle"));
            }
            ProgressUpdate::Rate { workload, rate, unit, p99_us } => {
                self.set_message(workload, rate_text(*rate, unit, *p99_us));
            }
            ProgressUpdate::Tick { phase_left_s, run_left_s } => {
                let done = 1.0 - phase_left_s / self.phase_s.max(1e-9);
                self.phase.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
                self.phase.set_prefix(format!("{phase_left_s:.0} s left in phase, {run_left_s:.0} s in total"));
            }
            ProgressUpdate::Finding(finding) => {
                // Printed above the bars; a closed terminal is not a failure.
                let _ = self.all.println(printable(&format!("{}: {}", finding.id, finding.text)));
            }
            ProgressUpdate::Ended { workload, text } => {
                let _ = self.all.println(printable(&format!("{workload} has ended: {text}")));
            }
            ProgressUpdate::Failed { workload, text } => {
                let _ = self.all.println(printable(&format!("{workload} failed: {text}")));
            }
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Lines for a log.
#[derive(Default)]
pub struct Lines {
    /// The tenth of its preparation that each workload last reported.
    tenths: HashMap<String, u64>,
    rates: Vec<(String, String)>,
    ticks: u64,
}

/// The number of ticks between two lines of rates.
const TICKS_PER_LINE: u64 = 10;

impl Lines {
    fn show(&mut self, update: &ProgressUpdate<'_>) {
        match update {
            ProgressUpdate::Preparing { workload, what, done, total } => {
                let tenth = percent(*done, *total) as u64 / 10;
                if self.tenths.insert(format!("{workload} {what}"), tenth) != Some(tenth) {
                    output::note(&format!("  {workload}: {what} {} %", tenth * 10));
                }
            }
            ProgressUpdate::Ready { workload } => output::note(&format!("  {workload}: ready")),
            ProgressUpdate::Phase { id, label, seconds } => {
                self.rates.clear();
                self.ticks = 0;
                output::note(&format!("{id}  {label}: {seconds:.0} s"));
            }
            ProgressUpdate::Rate { workload, rate, unit, p99_us } => {
                self.rates.retain(|(name, _)| name != workload);
                self.rates.push(((*workload).to_owned(), rate_text(*rate, unit, *p99_us)));
            }
            ProgressUpdate::Tick { run_left_s, .. } => {
                self.ticks += 1;
                if self.ticks.is_multiple_of(TICKS_PER_LINE) && !self.rates.is_empty() {
                    let rates: Vec<String> = self.rates.iter().map(|(name, text)| format!("{name} {text}")).collect();
                    output::note(&format!("  {} | {run_left_s:.0} s left", rates.join(" | ")));
                }
            }
            ProgressUpdate::Finding(finding) => output::note(&format!("{}: {}", finding.id, finding.text)),
            ProgressUpdate::Ended { workload, text } => output::note(&format!("{workload} has ended: {text}")),
            ProgressUpdate::Failed { workload, text } => output::note(&format!("{workload} failed: {text}")),
        }
    }
}

fn percent(done: u64, total: u64) -> f64 {
    if total == 0 { 100.0 } else { done as f64 * 100.0 / total as f64 }
}

fn rate_text(rate: f64, unit: &str, p99_us: Option<f64>) -> String {
    match p99_us {
        Some(us) => format!("{} {unit}, p99 {}", number(rate), latency(us)),
        None => format!("{} {unit}", number(rate)),
    }
}
