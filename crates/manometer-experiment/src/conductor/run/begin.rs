//! From an experiment to workers that are ready.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;

use manometer_measure::clock::{WallAnchor, next_multiple};
use manometer_measure::doctor::Facts;
use manometer_measure::host::{self, environment};
use manometer_measure::plan::{Plan, Settings};
use manometer_measure::{Clock as _, MonotonicClock, RecordingError, RecordingWriter};
use manometer_workload::protocol::Job;

use super::super::narrow::Live;
use super::super::process::Worker;
use super::super::scribe::Scribe;
use super::super::{RunError, Setup, Update, existing};
use super::conditions::made_anew;
use super::member::Member;
use super::{Run, seed_of};
use crate::file::Experiment;
use crate::isolate::Isolated;
use crate::prepare::Brought;
use crate::prepare::account::Account;
use crate::prepare::ledger::Ledger;

impl<'a> Run<'a> {
    pub(super) fn begin(
        experiment: &Experiment,
        setup: &'a Setup<'a>,
        brought: &Brought,
        ledger: &'a mut Ledger,
        watch: &'a mut dyn FnMut(Update<'_>),
    ) -> Result<Self, RunError> {
        let plan = crate::plan::plan(experiment);
        let isolated = Isolated::begin(experiment)?;
        let mut environment = environment::describe(&experiment.directory);
        environment["device_state"] = brought.state.clone();
        environment["fit"] = serde_json::json!(experiment.shrunk_by);
        environment["files"] = serde_json::json!(experiment.referenced());
        let tried = manometer_target::file::probe(&experiment.directory);
        environment["doctor"] = serde_json::json!(Facts::read(&experiment.directory, tried).checks());
        if let Some(told) = isolated.environment() {
            environment["isolation"] = told;
        }
        let start = WallAnchor::now();
        let recording = RecordingWriter::create(&setup.out, start, &experiment.to_toml(), &plan, &environment)?;
        let now_ns = MonotonicClock.now_ns();
        let mut account = Account::open(ledger, &experiment.directory, "run", experiment.write_budget, now_ns)?;
        let (sender, told) = channel();
        let mut members = Vec::new();
        let mut observers = host::observers(&experiment.directory);
        for (index, (workload, part)) in experiment.workloads().zip(&plan.workloads).enumerate() {
            let folder = experiment.directory.join(&workload.name);
            let prepared = brought.prepared.contains(&folder);
            let job = Job {
                name: workload.name.clone(),
                directory: experiment.directory.clone(),
                existing: existing(setup.reuse, prepared || setup.made.contains(&folder)),
                interval_ms: u64::try_from(experiment.interval.0.as_millis()).unwrap_or(u64::MAX),
                seed: seed_of(experiment.seed, index),
                removes: false,
                workload: workload.settings.clone(),
            };
            let worker = Worker::start(&setup.program, isolated.place(index), &job, index, sender.clone())?;
            account.watch(worker.pid);
            observers.iter_mut().for_each(|observer| observer.worker(worker.pid));
            observers.extend(host::worker(&workload.name, worker.pid, &experiment.directory));
            members.push(Member {
                worker,
                folder: workload.settings.keeps_data().then_some(folder),
                part: part.clone(),
                facts: None,
                gone: None,
                ended: None,
                has_left: false,
                running: false,
                prepared,
                settings: Settings::new(),
                pending: false,
            });
        }
        let interval_ns = experiment.interval.nanoseconds();
        observers.extend(host::conductor(interval_ns, start));
        let mut scribe = Scribe::new(recording);
        for workload in experiment.workloads() {
            scribe.expect(&workload.name, operations(workload, &plan));
        }
        Ok(Self {
            setup,
            watch,
            live: Live::new(&plan),
            stop: experiment.times.stop,
            plan,
            environment,
            scribe,
            unrecorded: BTreeSet::new(),
            members,
            isolated,
            told,
            observers,
            interval_ns,
            next_beat_ns: next_multiple(start.monotonic_ns, interval_ns),
            account,
            spent: None,
            phase_end_ns: 0,
            after_phase_s: 0.0,
            failed: false,
        })
    }

    /// Waits until every worker is ready, one has failed, or somebody interrupts.
    pub(super) fn prepare(&mut self) -> Result<(), RunError> {
        self.pump(u64::MAX, |run| {
            let failed = run.members.iter().any(|member| member.gone.is_some());
            failed || run.spent.is_some() || run.members.iter().all(|member| member.facts.is_some())
        })?;
        for finding in self.members.iter().filter_map(made_anew).collect::<Vec<_>>() {
            self.finding(finding)?;
        }
        self.tell_of_servers()?;
        let mut facts = Settings::new();
        for member in &self.members {
            facts.insert(member.part.name.clone(), serde_json::json!(member.facts));
        }
        self.environment["workloads"] = facts.into();
        self.write_environment()
    }

    /// Has the observers know which servers of others the workloads drive: what these move is no stranger's. Servers
    /// that workers started are ours anyway.
    fn tell_of_servers(&mut self) -> Result<(), RecordingError> {
        let address = |member: &Member| {
            let facts = member.facts.as_ref().filter(|facts| facts.get("own_server") != Some(&true.into()))?;
            Some((member.part.name.clone(), facts.get("address")?.as_str()?.to_owned()))
        };
        for (workload, address) in self.members.iter().filter_map(address).collect::<Vec<_>>() {
            for event in self.observers.iter_mut().flat_map(|observer| observer.serves(&workload, &address)) {
                self.scribe.recording.event(MonotonicClock.now_ns(), event)?;
            }
        }
        Ok(())
    }
}

/// The operations that `workload` does in any phase of `plan`.
fn operations(workload: &crate::file::Workload, plan: &Plan) -> Vec<String> {
    let prefix = format!("{}.", workload.name);
    let mut all: BTreeSet<&'static str> = workload.settings.operations().into_iter().collect();
    for phase in &plan.phases {
        let changed = phase.settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
        let changed =
            changed.into_iter().try_fold(workload.clone(), |workload, (name, value)| workload.with(name, value));
        all.extend(changed.iter().flat_map(|workload| workload.settings.operations()));
    }
    all.into_iter().map(str::to_owned).collect()
}
