//! The result files of resctl-bench 2.x: a JSON array of jobs, each with its period and its overall result. They
//! contain no samples: a phase has one row in the series `result`.

use std::collections::BTreeSet;
use std::path::Path;

use manometer_measure::event::RunStatus;
use manometer_measure::plan::{BetterDirection, Criterion, Phase, PhaseKind, Plan, Settings};
use serde_json::{Map, Value, json};

use crate::findings;
use crate::import_format::{ImportFormat, read_each};
use crate::input::{all_lines, file_stem};
use crate::{ImportError, ImportedPhase, ImportedRun, SampleTable};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "resctl-bench",
    about: "Results of resctl-bench 2.x (`.json`, also compressed): each job, or run of `iocost-qos`, becomes a phase.",
    read: |files| read_each(files, read),
};

const PROGRAM: &str = "resctl-bench";
const FROM: &str = "resctl-bench's result";
/// The known versions; earlier ones have another format.
const KNOWN: [&str; 3] = ["2.0", "2.1", "2.2"];
/// Kernel counters, hundreds of each, which are left out.
const LEFT_OUT: [&str; 3] = ["mem_stat", "io_stat", "vmstat"];
/// Distributions over time of which more than the mean is imported: isolation, and its effect on latency.
const JUDGED_BY_SHARE: [&str; 2] = ["isol", "lat_imp"];

/// A measurement from `begin_s` to `end_s`, in seconds since 1970.
struct Measurement<'a> {
    label: String,
    begin_s: u64,
    end_s: u64,
    settings: Settings,
    result: &'a Value,
}

/// Reads a result file.
///
/// # Errors
/// The file cannot be read, is no resctl-bench result, or contains nothing with a time.
fn read(path: &Path) -> Result<ImportedRun, ImportError> {
    let (lines, cut) = all_lines(path)?;
    if let Some(cut) = cut {
        return Err(ImportError::format(
            path,
            format!("it is damaged {cut}: the file is one JSON document, and incomplete"),
        ));
    }
    let jobs = jobs(&lines.join("\n")).map_err(|reason| ImportError::format(path, reason))?;
    let mut measured: Vec<Measurement<'_>> = jobs.iter().flat_map(measured).collect();
    measured.sort_by_key(|one| (one.begin_s, one.end_s));
    let Some(begin_s) = measured.first().map(|one| one.begin_s) else {
        return Err(ImportError::format(path, "none of its jobs was begun: their periods are empty"));
    };
    let end_s = measured.iter().map(|one| one.end_s).max().unwrap_or(begin_s);
    let unfinished: BTreeSet<&str> = jobs.iter().filter(|job| job["result"].is_null()).map(kind).collect();
    let mut findings = Vec::new();
    if let Some(version) = unknown_version(&jobs) {
        let known = KNOWN.join(", ");
        let text = format!(
            "{PROGRAM} {version} is newer than the known versions ({known}), and was read as those: check that nothing is missing"
        );
        findings.push(findings::unknown_version(text));
    }
    if !unfinished.is_empty() {
        let names = unfinished.iter().copied().collect::<Vec<_>>().join(", ");
        findings.push(findings::cut_short(format!("{names} have no result: the run was cut short, or they failed")));
    }
    let status = if unfinished.is_empty() { RunStatus::Complete } else { RunStatus::Interrupted };
    let since_begin_ns = |time_s: u64| (time_s - begin_s).saturating_mul(1_000_000_000);
    let mut table = SampleTable::default();
    for one in &measured {
        let values = numbers(one.result);
        table.push(
            since_begin_ns(one.end_s),
            FROM,
            values.iter().map(|(name, value)| (name.as_str(), unit(name), *value)),
        );
    }
    let phases = measured.into_iter().enumerate().map(|(number, one)| {
        let (begin_ns, end_ns) = (since_begin_ns(one.begin_s), since_begin_ns(one.end_s));
        ImportedPhase { phase: phase(number, one), begin_ns, end_ns }
    });
    let name = file_stem(path);
    Ok(ImportedRun {
        phases: phases.collect(),
        plan: Plan {
            experiment: name.clone(),
            criterion: Criterion { metric: "throughput".into(), unit: "ops/s".into(), better: BetterDirection::Higher },
            interval_s: 1.0,
            seed: 0,
            sweep: Settings::new(),
            reference: false,
            goal: None,
            interleaved: None,
            workloads: Vec::new(),
            phases: Vec::new(),
        },
        series: [("result".to_owned(), table)].into(),
        latencies: Vec::new(),
        environment: environment(path, &jobs),
        constant: Settings::from_iter([("import.file".to_owned(), name.clone().into())]),
        experiment: format!("name = {}\n", toml_edit::Value::from(name)),
        begin_unix_ns: begin_s.saturating_mul(1_000_000_000),
        end_ns: since_begin_ns(end_s),
        status: Some(status),
        findings,
    })
}

/// The jobs of a file, or the reason why there are none.
fn jobs(text: &str) -> Result<Vec<Value>, String> {
    let parsed: Value =
        serde_json::from_str(text).map_err(|error| format!("no result of {PROGRAM}, which is JSON: {error}"))?;
    let Value::Array(jobs) = parsed else {
        return Err(format!("no result of {PROGRAM}: it is not an array of jobs"));
    };
    if jobs.iter().any(|job| job.get("started_at").is_some()) {
        return Err(format!("it was written before {PROGRAM} 2.0, whose jobs have another form"));
    }
    match jobs.iter().position(|job| !job["spec"]["kind"].is_string() || !job["period"].is_array()) {
        Some(number) => Err(format!("no result of {PROGRAM}: its job {} has no kind or no period", number + 1)),
        None if jobs.is_empty() => Err("it holds no job".to_owned()),
        None => Ok(jobs),
    }
}

fn kind(job: &Value) -> &str {
    job["spec"]["kind"].as_str().unwrap_or_default()
}

/// The first unknown version, such as `2.3.0`.
fn unknown_version(jobs: &[Value]) -> Option<&str> {
    let versions = jobs.iter().filter_map(|job| job["sysinfo"]["bench_version"].as_str()?.split(' ').next());
    let is_known =
        |version: &str| KNOWN.iter().any(|known| version.strip_prefix(known).is_some_and(|rest| rest.starts_with('.')));
    versions.into_iter().find(|version| !version.is_empty() && !is_known(version))
}

/// Start and end, if time passed between them.
fn period(value: &Value) -> Option<(u64, u64)> {
    let (begin_s, end_s) = (value.get(0)?.as_u64()?, value.get(1)?.as_u64()?);
    (0 < begin_s && begin_s < end_s).then_some((begin_s, end_s))
}

/// The measurements of a job: each run of `iocost-qos` separately, any other job as one.
fn measured(job: &Value) -> Vec<Measurement<'_>> {
    let name = match job["spec"]["id"].as_str() {
        Some(id) => format!("{} {id}", kind(job)),
        None => kind(job).to_owned(),
    };
    if let Some(runs) = job["record"]["runs"].as_array().filter(|_| kind(job) == "iocost-qos") {
        let run = |(number, run): (usize, &Value)| {
            let (begin_s, end_s) = period(&run["period"])?;
            let settings = overrides(&run["ovr"]);
            let (label, result) = (format!("{name}, {}", describe_settings(&settings)), &job["result"]["runs"][number]);
            Some(Measurement { label, begin_s, end_s, settings, result })
        };
        return runs.iter().enumerate().filter_map(run).collect();
    }
    // A job without a conclusion has the result `true`, and its values in the record.
    let result = if job["result"].is_object() { &job["result"] } else { &job["record"] };
    let whole = period(&job["period"]);
    let one = |(begin_s, end_s)| Measurement { label: name.clone(), begin_s, end_s, settings: Settings::new(), result };
    whole.map(one).into_iter().collect()
}

/// The settings of io.cost's quality of service of a run.
fn overrides(ovr: &Value) -> Settings {
    let set = ovr.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null() && **value != false);
    set.map(|(name, value)| (format!("iocost.{name}"), value.clone())).collect()
}

fn describe_settings(settings: &Settings) -> String {
    if settings.is_empty() {
        return "io.cost as it was".to_owned();
    }
    settings.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn phase(number: usize, one: Measurement<'_>) -> Phase {
    Phase {
        id: if number == 0 { "w0".to_owned() } else { format!("w0-{}", number + 1) },
        label: one.label,
        kind: PhaseKind::Baseline,
        duration_s: (one.end_s - one.begin_s) as f64,
        settle_s: 0.0,
        running: Vec::new(),
        settings: one.settings,
    }
}

/// The numbers of a result by their path, such as `all_rstat.io_bps.read`. Of a distribution over time the mean is
/// used.
fn numbers(result: &Value) -> Vec<(String, f64)> {
    let mut found = Vec::new();
    walk("", result, &mut found);
    found
}

fn walk(name: &str, value: &Value, found: &mut Vec<(String, f64)>) {
    let below = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match value {
        Value::Number(number) => found.extend(number.as_f64().map(|number| (name.to_owned(), number))),
        Value::Object(fields) => match fields.get("mean").and_then(Value::as_f64) {
            Some(mean) => {
                found.push((name.to_owned(), mean));
                // The protection of a workload is judged by its worst seconds.
                if JUDGED_BY_SHARE.contains(&name.rsplit('.').next().unwrap_or_default()) {
                    let shares = fields.iter().filter(|(share, _)| share.parse::<f64>().is_ok());
                    found.extend(
                        shares.filter_map(|(share, value)| Some((percentile(&below(""), share), value.as_f64()?))),
                    );
                }
            }
            None => fields.iter().filter(|(part, _)| !LEFT_OUT.contains(&part.as_str())).for_each(|(part, value)| {
                // A latency percentile within a second, of which the mean over time is used.
                let name = if part.parse::<f64>().is_ok() { percentile(&below(""), part) } else { below(part) };
                walk(&name, value, found);
            }),
        },
        Value::Array(both) => {
            for (part, value) in parts(name).iter().zip(both) {
                walk(&below(part), value, found);
            }
        }
        _ => {}
    }
}

/// `99.9` after `iolat.read.` becomes `iolat.read.p999`.
fn percentile(before: &str, share: &str) -> String {
    format!("{before}p{}", share.replace('.', ""))
}

/// The names of an array's elements: pairs have named elements, scenarios are numbered, lists are left out.
fn parts(name: &str) -> &'static [&'static str] {
    match name.rsplit('.').next().unwrap_or_default() {
        "io_bps" | "iolat" => &["read", "write"],
        "psi_mem" | "psi_io" => &["some", "full"],
        "nr_reports" => &["found", "missing"],
        "scenarios" => &["1", "2", "3", "4", "5", "6", "7", "8"],
        _ => &[],
    }
}

/// The unit of a number by the parts of its name.
fn unit(name: &str) -> &'static str {
    let has = |part: &str| name.split('.').any(|one| one == part);
    let ends = |end: &str| name.ends_with(end);
    if has("io_bps") || ends("rbps") || ends("wbps") {
        "B/s"
    } else if has("iolat") || has("base_lat") || has("base_lat_stdev") {
        "s"
    } else if ends("iops") || has("base_rps") || has("rps_max") {
        "1/s"
    } else if ends("rlat") || ends("wlat") {
        "µs"
    } else if has("vrate") || has("vrate_stdev") {
        "%"
    } else if ["_bytes", "mem_size", "mem_usage", "mem_size_stdev", "mem_usage_stdev", "hash_size"]
        .iter()
        .any(|end| ends(end))
    {
        "B"
    } else if has("psi_cpu") || has("psi_mem") || has("psi_io") || has("io_util") {
        "s/s"
    } else {
        ""
    }
}

/// The known facts about the host, and results without a time: the conclusions of `iocost-tune`.
fn environment(path: &Path, jobs: &[Value]) -> Value {
    let reports = jobs.iter().map(|job| &job["sysinfo"]["sysreqs_report"]);
    let report = reports.into_iter().find(|report| report.is_object()).unwrap_or(&Value::Null);
    let versions: BTreeSet<&str> = jobs.iter().filter_map(|job| job["sysinfo"]["bench_version"].as_str()).collect();
    let timeless = jobs.iter().filter(|job| period(&job["period"]).is_none() && job["result"].is_object());
    let timeless: Map<String, Value> = timeless.map(|job| (kind(job).to_owned(), job["result"].clone())).collect();
    json!({
        "imported": {
            "from": path.file_name().map(|name| name.to_string_lossy()),
            "program": PROGRAM,
            "version": versions.into_iter().collect::<Vec<_>>().join(", "),
            "results": timeless,
        },
        "host": {
            "kernel": report["kernel_version"],
            "cores": report["nr_cpus"],
            "memory_bytes": report["total_memory"],
            "swap_bytes": report["total_swap"],
        },
        "device": {
            "name": report["scr_dev"],
            "model": report["scr_dev_model"],
            "firmware": report["scr_dev_fwrev"],
            "bytes": report["scr_dev_size"],
            "scheduler": report["scr_dev_iosched"],
        },
    })
}
