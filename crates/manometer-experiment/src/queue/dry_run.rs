//! The dry run of a set: its plans, its cost and the findings that are known before anything starts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use manometer_measure::event::Finding;
use manometer_measure::{ByteSize, Plan};

use super::cost::{Ledgers, SetCost, read_ledgers};
use super::{PlannedRun, unlike_states};
use crate::definition::Experiment;
use crate::plan;
use crate::prepare::ledger::{LedgerEntries, LedgerError};
use crate::prepare::steps::PrepareStep;

/// What would run, and its cost.
#[derive(Debug)]
pub struct DryRun<'a> {
    /// The runs in order.
    pub runs: &'a [PlannedRun],
    /// Their plans.
    pub plans: Vec<Plan>,
    ledgers: Ledgers,
    /// Their cost.
    pub costs: SetCost,
    /// The findings that are known before anything starts.
    pub findings: Vec<Finding>,
    /// The write throughput of the device in bytes per second, where it was given.
    pub write_speed: Option<f64>,
}

/// The preparation of one device directory for all runs there.
#[derive(Debug)]
pub struct DirectoryPreparation<'a> {
    /// The first experiment there.
    pub first: &'a Experiment,
    /// What was prepared and written there before.
    pub ledger: &'a LedgerEntries,
    /// The steps in order.
    pub steps: Vec<PrepareStep>,
    /// Bytes that workers write as they create their data.
    pub by_workers_bytes: u64,
    /// The write budgets, each once.
    pub budgets: Vec<ByteSize>,
}

impl<'a> DryRun<'a> {
    /// Estimates the cost of `runs`. With `reuse`, data of other experiments may serve.
    ///
    /// # Errors
    /// The ledger of a device directory cannot be read.
    pub fn estimate(runs: &'a [PlannedRun], reuse: bool, write_speed: Option<f64>) -> Result<Self, LedgerError> {
        let ledgers = read_ledgers(runs)?;
        let costs = SetCost::estimate(runs, &ledgers, reuse);
        let mut findings = unlike_states(runs);
        findings.extend(costs.over_budget(runs, &ledgers, write_speed));
        for known in runs.iter().flat_map(|run| &run.experiment.findings) {
            if !findings.contains(known) {
                findings.push(known.clone());
            }
        }
        let plans = runs.iter().map(|run| plan::plan(&run.experiment)).collect();
        Ok(Self { runs, plans, ledgers, costs, findings, write_speed })
    }

    /// The most bytes that the runs write, the preparation left out; `None` where the device alone bounds them and its speed is
    /// not known.
    pub fn max_written_bytes(&self) -> Option<f64> {
        let most = &self.costs.max;
        match self.write_speed {
            _ if most.unbounded_s == 0.0 => Some(most.written_bytes),
            speed => speed.map(|speed| most.max_written_bytes(speed)),
        }
    }

    /// The preparation of each device directory.
    pub fn preparations(&self) -> Vec<DirectoryPreparation<'_>> {
        let of_directory = |(directory, ledger): (&PathBuf, _)| {
            let own = || self.runs.iter().map(|run| &run.experiment).zip(&self.costs.preparations);
            let own = || own().filter(move |(run, _)| run.directory == *directory);
            let budgets: BTreeSet<ByteSize> = own().filter_map(|(run, _)| run.write_budget).collect();
            Some(DirectoryPreparation {
                first: own().next()?.0,
                ledger,
                steps: own().flat_map(|(_, preparing)| preparing.steps.iter().cloned()).collect(),
                by_workers_bytes: own().map(|(_, preparing)| preparing.by_workers_bytes).sum(),
                budgets: budgets.into_iter().collect(),
            })
        };
        self.ledgers.iter().filter_map(of_directory).collect()
    }
}
