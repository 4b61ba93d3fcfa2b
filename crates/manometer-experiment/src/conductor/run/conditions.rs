//! Findings about the conditions of a run.

use std::path::Path;

use manometer_measure::ByteSize;
use manometer_measure::event::{Finding, Severity};
use manometer_measure::host::environment;
use manometer_measure::plan::{Phase, Settings};
use serde_json::Value;

use super::member::Member;
use crate::definition::Experiment;

/// A worker did not find its prepared data.
pub(super) fn made_anew(member: &Member) -> Option<Finding> {
    let facts = member.facts.as_ref().filter(|_| member.prepared)?;
    let made_files = facts.get("made").and_then(serde_json::Value::as_array).is_some_and(|made| !made.is_empty());
    let loaded = facts.get("reused") == Some(&serde_json::Value::Bool(false));
    (made_files || loaded).then(|| {
        Finding::new(
            "not-as-prepared",
            Severity::Warning,
            format!(
                "`{}` did not find its prepared data and created it again, without settling: run `manometer \
             prepare` again, then the experiment.",
                member.part.name
            ),
        )
    })
}

/// One of the clients that share a workload was lost.
pub(super) fn client_lost(workload: &str, what: &str) -> Finding {
    let text = format!("The load of `{workload}` fell: {what}. Trust only the phases before it, or run it again.");
    Finding::new("client-lost", Severity::Warning, text)
}

/// A worker sent nothing within the limit.
pub(super) fn worker_silent(workload: &str, what: &str) -> Finding {
    let text = format!(
        "`{workload}` fell silent: {what}. It was ended, and no further phase is measured. Remove the cause, then run it with `--resume`."
    );
    Finding::new("worker-silent", Severity::Error, text)
}

/// The device answered no request within the limit.
pub(super) fn device_silent(what: &str) -> Finding {
    let text = format!(
        "The run was stopped: {what}, though some wait. Check the device (`dmesg`), then run it with `--resume`."
    );
    Finding::new("device-silent", Severity::Error, text)
}

pub(super) fn unrecorded(operation: &str) -> Finding {
    Finding::new(
        "operation-without-column",
        Severity::Warning,
        format!("`{operation}` appeared after its series had begun: its latencies are recorded, its counts are not."),
    )
}

/// The interval of a phase is too wide after its maximum length.
pub(super) fn too_wide(phase: &Phase, width: Option<f64>, wanted: f64, measured_ns: u64) -> Finding {
    let got = width.map_or("it has none".to_owned(), |width| format!("it is {:.2} % wide", 100.0 * width));
    Finding::new("interval-too-wide", Severity::Warning, format!(
            "After {:.1} s of {} its interval should be {:.2} % wide at most, and {got}. Raise `at_most` of `plan.stop`, \
             or let the device settle for longer.",
            measured_ns as f64 / 1e9,
            phase.id,
            100.0 * wanted,
        )).in_phases([&phase.id])
}

/// The widest interval of a pressure is too wide after the last allowed round.
pub(super) fn rounds_too_wide(rounds: usize, width: Option<f64>, wanted: f64) -> Finding {
    let got = width.map_or("some have none".to_owned(), |width| format!("the widest is {:.2} % wide", 100.0 * width));
    let text = format!(
        "After {rounds} rounds the intervals of the pressures should be {:.2} % wide at most, and {got}. Raise `at_most` of \
         `plan.stop`, or let the device settle for longer.",
        100.0 * wanted,
    );
    Finding::new("interval-too-wide", Severity::Warning, text)
}

pub(super) fn recording_on_device(out: &Path, experiment: &Experiment) -> Option<Finding> {
    same_device(out, &experiment.directory).then(|| {
        Finding::new(
            "recording-on-device",
            Severity::Warning,
            "The recording is on the measured device and adds to its load: choose another device with --out."
                .to_owned(),
        )
    })
}

pub(super) fn isolation_lost(text: String) -> Finding {
    Finding::new("isolation-lost", Severity::Error, text)
}

/// No block device is visible below the file system, according to `environment`.
pub(super) fn device_unseen(environment: &serde_json::Value, directory: &Path) -> Option<Finding> {
    let fs_type = environment["file_system"]["type"].as_str().unwrap_or("unknown file system");
    environment["device"].is_null().then(|| Finding::new("device-unseen", Severity::Warning, format!(
            "No block device is visible under {} ({fs_type}): device metrics and I/O limits are unavailable, and bytes \
             written are those that the workloads' processes report. Choose a local disk; `manometer doctor DIR` shows \
             the layers under a directory.",
            directory.display()
        )))
}

/// Engines exceeded the write budget as they closed.
pub(super) fn budget_passed(beyond: ByteSize) -> Finding {
    Finding::new(
        "write-budget-passed",
        Severity::Error,
        format!(
            "Writes at the end of the workloads exceeded `device.write_budget` by {:.1} MiB: leave more \
             of it for engines that keep much unwritten data in memory.",
            beyond.mib()
        ),
    )
}

pub(super) fn bounds_direct_writes_only() -> Finding {
    Finding::new(
        "bounds-direct-writes-only",
        Severity::Info,
        "Control groups of version 1 limit direct writes only: buffered writes reach the device later, without a \
               limit."
            .to_owned(),
    )
}

/// The primary's data fit in memory, and its reads go through the page cache, as far as its `facts` say.
pub(super) fn database_in_memory(experiment: &Experiment, facts: Option<&Settings>) -> Option<Finding> {
    let primary = &experiment.primary.as_ref()?.settings;
    let bytes = primary.bytes_to_prepare();
    let memory_bytes = environment::memory_bytes()?;
    let is_direct = reads_past_page_cache(&primary.get("direct"), facts);
    (0 < bytes && bytes < memory_bytes && !is_direct).then(|| Finding::new("fits-in-memory", Severity::Info, format!(
            "The primary's data ({:.0} MiB) is smaller than this host's memory ({:.0} MiB): unless reads bypass the \
             page cache, most are served from it, and the result measures CPU, not storage.",
            ByteSize(bytes).mib(),
            ByteSize(memory_bytes).mib(),
        )))
}

/// Whether a workload reads with direct I/O: by its own setting, by what it reported, or by an option of its engine.
fn reads_past_page_cache(setting: &Value, facts: Option<&Settings>) -> bool {
    let is_set = |value: &Value| value.as_bool() == Some(true) || value.as_str() == Some("true");
    let fact = |name: &str| facts.and_then(|facts| facts.get(name));
    let option = fact("options").and_then(|options| options.get("use_direct_reads"));
    [Some(setting), fact("direct"), option].into_iter().flatten().any(is_set)
}

/// Whether `out` is on the device of `directory`: then recording adds to the load.
fn same_device(out: &Path, directory: &Path) -> bool {
    let device = manometer_measure::host::device_of;
    matches!((device(out), device(directory)), (Some(one), Some(other)) if one.disk_sysfs() == other.disk_sysfs())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_directory_without_a_device_is_told_with_its_file_system() {
        let dir = Path::new("/home/me/secret");
        let unseen = json!({"device": null, "file_system": {"type": "fuse.gocryptfs"}});
        let finding = device_unseen(&unseen, dir).unwrap();
        assert_eq!((finding.id.as_str(), finding.severity), ("device-unseen", Severity::Warning));
        assert!(finding.text.contains("/home/me/secret (fuse.gocryptfs)"), "{}", finding.text);
        assert!(device_unseen(&json!({}), dir).unwrap().text.contains("unknown file system"));
        assert_eq!(device_unseen(&json!({"device": {"name": "sda"}}), dir), None);
    }

    #[test]
    fn direct_reads_are_known_by_a_setting_a_fact_or_an_option_of_the_engine() {
        let facts = |value: Value| value.as_object().cloned();
        let past = |setting: Value, known: Value| reads_past_page_cache(&setting, facts(known).as_ref());
        assert!(past(json!(true), Value::Null));
        assert!(past(Value::Null, json!({"direct": true})));
        assert!(past(Value::Null, json!({"options": {"use_direct_reads": "true"}})));
        assert!(!past(Value::Null, json!({"options": {"use_direct_reads": "false"}})));
        assert!(!past(json!(false), json!({"options": {}})) && !past(Value::Null, Value::Null));
    }
}
