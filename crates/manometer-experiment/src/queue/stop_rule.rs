//! Which runs a set can do without: repeats of a combination whose interval is narrow enough, and references among them.

use manometer_analysis::compare::ComparedRun;
use manometer_measure::event::{Finding, Severity};

use super::{PlannedRun, Queue, QueuedRun, RunState, repeat_width, runs};
use crate::definition::format_settings;

impl Queue {
    /// A combination whose last repeat, `index`, leaves its interval too wide.
    pub(super) fn too_wide(&self, index: usize) -> Option<Finding> {
        let planned = &self.runs[index].planned;
        let stop = planned.experiment.sweep_rules.stop?;
        let width = interval_width(&self.repeats_before(index, true));
        if width.is_some_and(|width| width <= stop.max_width) {
            return None;
        }
        let got = width.map_or("there is none".to_owned(), |width| format!("it is {:.2} % wide", 100.0 * width));
        let swept = format_settings(&planned.experiment.swept);
        let of = if swept.is_empty() { String::new() } else { format!(" with {swept}") };
        Some(Finding::new(
            "repeats-too-wide",
            Severity::Warning,
            format!(
                "After {} runs{of}, the confidence interval over them should be at most {:.2} % wide, but {got}. Raise \
                 `at_most`, run longer phases, or find out what differs from run to run.",
                stop.max_repeats,
                100.0 * stop.max_width
            ),
        ))
    }

    /// Whether the repeats of the same combination before `index` are sufficient.
    pub(super) fn is_sufficient_without(&self, index: usize) -> bool {
        let planned = &self.runs[index].planned;
        let rules = planned.experiment.sweep_rules;
        let Some(stop) = rules.stop else { return false };
        let repeats = self.repeats_before(index, false);
        let has_minimum = repeats.len() >= rules.repeats as usize;
        let is_optional = planned.combination.is_some() && has_minimum && planned.repeat > rules.repeats;
        is_optional && interval_width(&repeats).is_some_and(|width| width <= stop.max_width)
    }

    /// Whether the run `index` is a reference that is not needed, because runs between references were not needed.
    pub(super) fn is_idle_reference(&self, index: usize) -> bool {
        let runs: Vec<&PlannedRun> = self.runs.iter().map(|run| &run.planned).collect();
        let is_done = |other: usize| self.runs[other].state == RunState::Done;
        runs::is_idle_reference(&runs, index, is_done, |other| self.is_sufficient_without(other))
    }

    /// The done repeats of the combination of `index` before it; with `inclusive`, also itself.
    fn repeats_before(&self, index: usize, inclusive: bool) -> Vec<&QueuedRun> {
        let of = |run: &QueuedRun| (run.planned.file, run.planned.combination);
        let same = |run: &&QueuedRun| of(run) == of(&self.runs[index]) && run.state == RunState::Done;
        self.runs[..index + usize::from(inclusive)].iter().filter(same).collect()
    }
}

/// The width of the confidence interval over `repeats`.
fn interval_width(repeats: &[&QueuedRun]) -> Option<f64> {
    let read: Vec<ComparedRun> =
        repeats.iter().map(|run| ComparedRun::read(&run.dir)).collect::<Result<_, _>>().ok()?;
    repeat_width::widest_interval(&read)
}
