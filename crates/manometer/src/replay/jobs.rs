//! The jobs of the processes, from the flags.

use manometer_session::protocol::{DatabaseReuse, Job};
use manometer_workload::interface::ClientShare;
use manometer_workload::replay::{ReplaySettings, TraceFile};
use manometer_workload::settings::WorkloadSettings;

use super::args::Args;
use crate::output::{self, Format};
use crate::parse;

/// The folder of the database below `--dir`.
const NAME: &str = "replay";

/// The maximum number of processes.
const PROCESSES_MAX: u32 = 64;

/// The settings of the replay.
pub(super) fn settings(args: &Args) -> anyhow::Result<ReplaySettings> {
    anyhow::ensure!(
        (1..=PROCESSES_MAX).contains(&args.processes()),
        "`--processes` = {}: write a number from 1 to {PROCESSES_MAX}",
        args.processes()
    );
    anyhow::ensure!(
        args.on.iter().all(|on| !on.trim().is_empty()),
        "`--on` is empty: write a command such as `ssh node2 manometer`, or `local`"
    );
    anyhow::ensure!(
        args.input.trace.to_str() != Some("-"),
        "a replay reads its trace twice: name a file instead of `-`"
    );
    let options = parse::engine_options(args.options.as_ref(), parse::pairs(&args.option, "--option")?);
    Ok(ReplaySettings {
        engine: args.engine.clone(),
        options,
        file: TraceFile { trace: args.input.trace.clone(), form: args.input.form.clone() },
        model: args.model,
        time: args.time,
        factor: args.factor,
        spread: args.spread,
        threads: args.threads,
        load: args.load,
        on_miss: args.on_miss,
        give_up_after: args.give_up_after,
        value_size: args.value_size,
        share: None,
    })
}

/// A job for each process.
pub(super) fn jobs(args: &Args, settings: &ReplaySettings) -> anyhow::Result<Vec<Job>> {
    let processes = args.processes();
    let share = |part| (processes > 1).then_some(ClientShare { part, of: processes });
    let job = |part| {
        let settings = ReplaySettings { share: share(part), ..settings.clone() };
        // A wrong setting is refused before any process starts; each process reads the trace itself.
        settings.validate()?;
        Ok(Job {
            name: NAME.to_owned(),
            directory: args.dir.clone(),
            existing: if args.reuse { DatabaseReuse::Reuse } else { DatabaseReuse::Remake },
            interval_ms: args.interval.milliseconds().max(1),
            seed: args.seed,
            removes: part == 0 && !args.keeps(),
            waits: false,
            clients: None,
            share: None,
            workload: WorkloadSettings::Replay(settings),
        })
    };
    let jobs: Vec<Job> = (0..processes).map(job).collect::<anyhow::Result<_>>()?;
    if jobs.len() > 1 && args.format == Format::Text {
        output::note(&format!("{} processes share the trace", jobs.len()));
    }
    Ok(jobs)
}
