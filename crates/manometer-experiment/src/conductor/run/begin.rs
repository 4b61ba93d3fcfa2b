//! The beginning of a run: workers are started and become ready.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;

use manometer_measure::clock::{WallAnchor, next_tick_ns};
use manometer_measure::doctor::Facts;
use manometer_measure::host::{self, environment};
use manometer_measure::plan::{Plan, Settings};
use manometer_measure::{Clock as _, Directory, MonotonicClock, RecordingError, RecordingWriter};
use manometer_session::controller::Controller;
use manometer_session::listening_time::ListeningTime;
use manometer_session::protocol::Job;
use serde_json::{Value, json};

use super::super::RunError;
use super::super::phase_stop::LiveMetrics;
use super::super::recorder::RunRecorder;
use super::Run;
use super::conditions::made_anew;
use super::member::Member;
use super::silence::DeviceWatch;
use crate::definition::Experiment;
use crate::isolate::RunIsolation;
use crate::prepare::PreparedRun;
use crate::prepare::ledger::Ledger;
use crate::prepare::write_account::WriteAccount;
use crate::progress::ProgressUpdate;
use crate::setup::{RunSetup, existing_data_policy, worker_seed};

impl<'a> Run<'a> {
    pub(super) fn begin(
        experiment: &Experiment,
        setup: &'a RunSetup<'a>,
        out: &Directory,
        prepared: &PreparedRun,
        ledger: &'a mut Ledger,
        watch: &'a mut dyn FnMut(ProgressUpdate<'_>),
    ) -> Result<Self, RunError> {
        let plan = crate::plan::plan(experiment);
        let isolated = RunIsolation::begin(experiment, ledger.directory())?;
        let environment = described(experiment, prepared, &isolated);
        let start = WallAnchor::now();
        let recording = RecordingWriter::create_in(out, start, &experiment.to_toml(), &plan, &environment)?;
        let now_ns = MonotonicClock.now_ns();
        let mut account = WriteAccount::open(ledger, "run", experiment.write_budget, now_ns)?;
        let mut controller = Controller::default();
        let mut members = Vec::new();
        let mut observers = host::host_observers(&experiment.directory);
        for (index, (workload, part)) in experiment.workloads().zip(&plan.workloads).enumerate() {
            let folder = experiment.directory.join(&workload.name);
            let is_prepared = prepared.folders.contains(&folder);
            let job = Job {
                name: workload.name.clone(),
                directory: experiment.directory.clone(),
                existing: existing_data_policy(setup.reuse, is_prepared || setup.created.contains(&folder)),
                interval_ms: experiment.interval.milliseconds(),
                seed: worker_seed(experiment.seed, index),
                removes: false,
                waits: false,
                clients: workload.clients.clone(),
                share: None,
                workload: workload.settings.clone(),
            };
            let place = isolated.placement(index);
            let mut command = place.command(&setup.program);
            // Ctrl-C at the terminal is handled by the conductor, which stops its workers in order.
            command.process_group(0);
            let admit = |pid| place.admit(pid).map_err(|error| error.to_string());
            controller.start_process(&mut command, &job, place.mark(), admit)?;
            let pid = controller.pid(index);
            account.add_process(pid);
            observers.iter_mut().for_each(|observer| observer.add_worker(pid));
            observers.extend(host::worker_observers(&workload.name, pid, &experiment.directory));
            let folder = workload.settings.keeps_data().then_some(folder);
            members.push(Member::new(part.clone(), folder, is_prepared));
        }
        let interval_ns = experiment.interval.nanoseconds();
        observers.extend(host::conductor_observers(interval_ns, start));
        let mut recorder = RunRecorder::new(recording);
        for workload in experiment.workloads() {
            recorder.expect_operations(&workload.name, operations(workload, &plan));
        }
        Ok(Self {
            setup,
            watch,
            live: LiveMetrics::new(&plan),
            stop: experiment.times.stop,
            plan,
            environment,
            recorder,
            unrecorded: BTreeSet::new(),
            open_outputs: members.len(),
            members,
            controller,
            isolated,
            observers,
            interval_ns,
            silence: experiment.silence,
            listened: ListeningTime::default(),
            device: DeviceWatch::new(&experiment.directory),
            device_is_silent: false,
            next_tick_ns: next_tick_ns(start.monotonic_ns, interval_ns),
            account,
            spent: None,
            phase_end_ns: 0,
            after_phase_s: 0.0,
            failed: false,
        })
    }

    /// Waits until every worker is ready, one has failed, or the run is interrupted.
    pub(super) fn prepare(&mut self) -> Result<(), RunError> {
        self.pump(u64::MAX, |run| {
            let failed = run.members.iter().any(|member| member.failure.is_some());
            failed || run.spent.is_some() || run.members.iter().all(|member| member.facts.is_some())
        })?;
        for finding in self.members.iter().filter_map(made_anew).collect::<Vec<_>>() {
            self.finding(finding)?;
        }
        self.announce_servers()?;
        let mut facts = Settings::new();
        for member in &self.members {
            facts.insert(member.part.name.clone(), json!(member.facts));
        }
        self.environment["workloads"] = facts.into();
        self.write_environment()
    }

    /// Tells the observers which existing servers the workloads drive: these are not foreign processes. Servers that workers
    /// started are never foreign.
    fn announce_servers(&mut self) -> Result<(), RecordingError> {
        let address = |member: &Member| {
            let facts = member.facts.as_ref().filter(|facts| facts.get("own_server") != Some(&true.into()))?;
            Some((member.part.name.clone(), facts.get("address")?.as_str()?.to_owned()))
        };
        for (workload, address) in self.members.iter().filter_map(address).collect::<Vec<_>>() {
            for event in self.observers.iter_mut().flat_map(|observer| observer.add_server(&workload, &address)) {
                self.recorder.recording.event(MonotonicClock.now_ns(), event)?;
            }
        }
        Ok(())
    }
}

/// The host and the device as they are found, and what the run brings with it.
fn described(experiment: &Experiment, prepared: &PreparedRun, isolated: &RunIsolation) -> Value {
    let mut environment = environment::describe(&experiment.directory);
    environment["device_state"] = prepared.device_state.clone();
    environment["fit"] = json!(experiment.disk_fit);
    environment["files"] = json!(experiment.referenced_files());
    let tried = manometer_target::file::probe(&experiment.directory);
    environment["doctor"] = json!(Facts::read(&experiment.directory, tried).checks());
    if let Some(isolation) = isolated.environment() {
        environment["isolation"] = isolation;
    }
    environment
}

/// The operations of `workload` in all phases of `plan`.
fn operations(workload: &crate::definition::ExperimentWorkload, plan: &Plan) -> Vec<String> {
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
