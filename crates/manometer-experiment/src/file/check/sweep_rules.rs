//! The order and the repeats of a sweep, and when phases and repeats have been measured enough.

use manometer_measure::Span;
use manometer_measure::suggest::correction;
use serde_json::Value;

use super::Checker;
use super::reading::property_names;
use crate::definition::{PhaseStop, RepeatStop, RunOrder, SweepRules, SweepStop};
use crate::file::tables::SweepTable;
use crate::file::tree::Node;

/// The maximum number of repeats, and of runs between references: more are a typing error.
const MAX_RUNS: u32 = 1000;

/// The minimum number of repeats where an interval over them is judged: two runs can agree by chance.
const MIN_REPEATS: u32 = 3;

/// The default of the maximum number of repeats.
const DEFAULT_MAX_REPEATS: u32 = 10;

/// How often a failed run is tried again, and the maximum.
const DEFAULT_RETRIES: u32 = 1;
const MAX_RETRIES: u32 = 10;

/// The keys of `[sweep]` that are not settings.
fn sweep_keys() -> Vec<String> {
    property_names::<SweepTable>().into_iter().filter(|name| name != "settings").collect()
}

/// The rules of a sweep, defaults applied.
fn rules_of(table: &SweepTable) -> SweepRules {
    let stop = table.stop.map(|stop| RepeatStop {
        max_width: stop.interval.0,
        max_repeats: stop.at_most.unwrap_or(DEFAULT_MAX_REPEATS),
    });
    let min_repeats = if stop.is_some() { MIN_REPEATS } else { 1 };
    SweepRules {
        order: table.order,
        repeats: table.repeats.unwrap_or(1).max(min_repeats),
        reference_every: table.reference_every,
        stop,
        retry: table.retry.unwrap_or(DEFAULT_RETRIES),
    }
}

impl Checker<'_> {
    /// Reads the keys of `[sweep]` that are not settings.
    pub(super) fn read_sweep_rules(&mut self, root: &Node, settings: &[(String, Vec<Value>)]) -> SweepRules {
        let default = SweepTable::default();
        let Some(table) = root.get("sweep") else { return rules_of(&default) };
        for (key, node) in table.entries().iter().filter(|(key, _)| !key.contains('.') && !sweep_keys().contains(key)) {
            let help = match node.is_table() {
                true => "write a setting in quotes: `\"workload.setting\" = [values]`".to_owned(),
                false => correction(key, sweep_keys().iter().map(String::as_str)),
            };
            self.report(format!("unknown key `{key}` in a sweep"), Some(&node.key_origin), Some(&help));
        }
        let stop: Option<SweepStop> = table.get("stop").and_then(|node| self.read_table(node, "stop"));
        let order: Option<RunOrder> = self.read_optional(table, "order");
        let sweep = SweepTable {
            order: order.unwrap_or_default(),
            repeats: self.read_optional(table, "repeats"),
            reference_every: self.read_optional(table, "reference_every"),
            stop,
            retry: self.read_optional(table, "retry"),
            ..default
        };
        self.check_counts(table, &sweep);
        if sweep.stop.is_some() && root.get("primary").is_none() {
            let origin = table.get("stop").map(|node| node.key_origin.clone());
            let help = "the interval is that of a pressure: add a `[primary]`, or use `repeats`";
            self.report("`stop` of a sweep needs a primary", origin.as_ref(), Some(help));
        }
        let rules = rules_of(&sweep);
        let sizes = settings.iter().map(|(_, values)| values.len()).chain([rules.max_repeats() as usize]);
        self.check_product("sweep", sizes, &table.key_origin);
        rules
    }

    fn check_counts(&mut self, table: &Node, sweep: &SweepTable) {
        let rules = rules_of(sweep);
        let mut refuse = |key: &str, message: String, help: &str| {
            let origin = table.get(key).map(|node| node.origin.clone());
            self.report(message, origin.as_ref(), Some(help));
        };
        if let Some(repeats) = sweep.repeats.filter(|repeats| !(1..=MAX_RUNS).contains(repeats)) {
            let help = format!("a combination can run 1 to {MAX_RUNS} times");
            refuse("repeats", format!("{repeats} repeats are out of range"), &help);
        }
        if let Some(retry) = sweep.retry.filter(|retry| *retry > MAX_RETRIES) {
            let help = format!("a run that fails again and again needs a look: write at most {MAX_RETRIES}");
            refuse("retry", format!("`retry = {retry}` is out of range"), &help);
        }
        if let Some(every) = sweep.reference_every {
            if !(2..=MAX_RUNS).contains(&every) {
                let help = format!("write a number from 2 to {MAX_RUNS}: every n-th run is the reference");
                refuse("reference_every", format!("`reference_every = {every}` is out of range"), &help);
            } else if !table.entries().iter().any(|(key, _)| key.contains('.')) {
                let help =
                    "the reference runs the file without the sweep's settings: with only `repeats`, every run does";
                refuse("reference_every", "a reference needs swept settings".to_owned(), help);
            }
        }
        let allowed = rules.repeats..=MAX_RUNS;
        if let Some(stop) = rules.stop.filter(|stop| !allowed.contains(&stop.max_repeats)) {
            let help =
                format!("write a number from {} (`repeats`, at least {MIN_REPEATS}) to {MAX_RUNS}", rules.repeats);
            refuse("stop", format!("`at_most = {}` is out of range", stop.max_repeats), &help);
        }
    }

    /// Reads `plan.stop` of a plan in which `what` it extends is `longest` long.
    pub(super) fn read_phase_stop(&mut self, root: &Node, (what, longest): (&str, Span)) -> Option<PhaseStop> {
        let node = root.get("plan").and_then(|plan| plan.get("stop"))?;
        let stop: PhaseStop = self.read_table(node, "stop")?;
        if let Some(at_most) = stop.at_most.filter(|at_most| *at_most < longest) {
            let origin = node.get("at_most").map(|node| node.origin.clone());
            let help = format!("write at least {longest}, the length of {what}");
            self.report(format!("`at_most = {at_most}` is shorter than {what}"), origin.as_ref(), Some(&help));
        }
        Some(stop)
    }
}
