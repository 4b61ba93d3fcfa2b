//! The workload's settings, from the flags.

use std::path::Path;

use manometer_workload::kv::{KvPlan, KvSettings, PacePlan, RunEnd};

use super::args::Args;
use super::engine_options::engine_options;
use crate::output;
use crate::parse::pairs;

/// The default duration in seconds.
const SECONDS: f64 = 10.0;

/// The settings of the workload.
pub(super) fn settings(args: &Args) -> anyhow::Result<KvSettings> {
    if let Some(out) = &args.out {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        anyhow::ensure!(
            !out.is_dir() && folder.is_dir(),
            "`--out` {}: write a file in a directory that exists",
            out.display()
        );
    }
    let good = |seconds: f64| (0.0..1e9).contains(&seconds);
    if let Some(seconds) = args.seconds {
        anyhow::ensure!(good(seconds) && seconds > 0.0, "`--seconds` = {seconds}: write a number above 0");
    }
    anyhow::ensure!(good(args.warmup), "`--warmup` = {}: write a number from 0", args.warmup);
    anyhow::ensure!(
        args.achieved > 0.0 && args.achieved <= 1.0,
        "`--achieved` = {}: write a share up to 1",
        args.achieved
    );
    Ok(KvSettings {
        engine: args.engine.clone(),
        options: engine_options(args)?,
        workload: args.properties_file.first().unwrap_or(&args.workload).clone(),
        properties_files: args.properties_file.iter().skip(1).cloned().collect(),
        records: args.records,
        threads: args.threads,
        distribution: args.distribution,
        exponent: args.exponent,
        field_count: args.field_count,
        field_length: args.field_length,
        key_size: args.key_size,
        value_size: args.value_size,
        operations: args.operations,
        pipeline: args.pipeline,
        pin: args.pin,
        load: args.load,
        properties: pairs(&args.property, "-p")?,
        rate: args.rate.clone(),
        arrivals: args.arrivals,
        queue: args.queue,
        think: args.think,
        ..KvSettings::default()
    })
}

/// The settings with the length of the run, and its longest duration in seconds. Flags override properties: the count of a
/// file does not shorten `--seconds`.
pub(super) fn planned(args: &Args, mut settings: KvSettings) -> anyhow::Result<(KvSettings, f64)> {
    let plan = KvPlan::new(&settings)?;
    if args.find_max {
        return search_settings(args, &plan, settings);
    }
    let end = RunEnd::of(&plan, &settings, args.seconds);
    settings.operations = end.operations;
    for note in KvPlan::new(&settings)?.notes {
        output::note(&format!("note: {note}"));
    }
    let default_s = if end.operations.is_some() { f64::INFINITY } else { SECONDS };
    Ok((settings, end.seconds.unwrap_or(default_s)))
}

/// The settings of a search, and the duration of each step in seconds. The search sets the rate of its own open loop.
fn search_settings(args: &Args, plan: &KvPlan, settings: KvSettings) -> anyhow::Result<(KvSettings, f64)> {
    anyhow::ensure!(
        plan.operations.is_none() && plan.spec.round().is_none(),
        "`--find-max` needs a workload without an end: leave the number of operations out"
    );
    anyhow::ensure!(
        plan.pace == PacePlan::Closed && plan.pipeline == 1,
        "`--find-max` sets the rate itself, one request at a time: leave `rate`, `target`, `think` and `--pipeline` out"
    );
    plan.notes.iter().for_each(|note| output::note(&format!("note: {note}")));
    Ok((settings, args.seconds.unwrap_or(SECONDS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        kv: Args,
    }

    #[test]
    fn requests_that_are_counted_take_as_long_as_they_take() {
        let seconds = |flags: &str| {
            let words = "kv --engine null --workload ycsb-c --records 10".split(' ').chain(flags.split_whitespace());
            let args = Line::parse_from(words).kv;
            planned(&args, settings(&args).unwrap()).unwrap().1
        };
        assert_eq!(seconds(""), SECONDS);
        assert_eq!(seconds("--operations 5"), f64::INFINITY);
        assert_eq!(seconds("--operations 5 --seconds 3"), 3.0);
        assert_eq!(seconds("-p operationcount=5"), f64::INFINITY);
        assert_eq!(seconds("-p operationcount=5 --seconds 3"), 3.0);
    }
}
