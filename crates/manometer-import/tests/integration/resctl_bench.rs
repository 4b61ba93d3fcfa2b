//! Tests of results of resctl-bench. The documents are written after its published types, since complete published
//! results exist only inside a packed database.

use manometer_import::{ImportError, ImportedRun};
use manometer_measure::Recording;
use manometer_measure::event::RunStatus;
use serde_json::{Value, json};

use crate::formats;

fn pcts(mean: f64) -> Value {
    json!({ "00": 0.0, "01": mean / 4.0, "05": mean / 2.0, "50": mean, "100": 2.0 * mean, "mean": mean, "stdev": 0.1 })
}

fn latencies(p50_s: f64, p99_s: f64) -> Value {
    json!([{ "50": pcts(p50_s), "99.9": pcts(p99_s) }, { "50": pcts(2.0 * p50_s), "99.9": pcts(2.0 * p99_s) }])
}

fn job(kind: &str, period: [u64; 2], record: &Value, result: &Value) -> Value {
    json!({
        "spec": { "kind": kind, "id": null, "passive": null, "props": [{}] },
        "period": period,
        "sysinfo": { "bench_version": "2.2.5 x86_64-unknown-linux-gnu", "sysreqs_report": {
            "kernel_version": "5.6.13", "nr_cpus": 36, "total_memory": 68_612_102_553_u64, "scr_dev": "nvme0n1",
            "scr_dev_model": "WDC CL SN720", "scr_dev_fwrev": "10105120", "scr_dev_size": 512_174_850_048_u64,
            "scr_dev_iosched": "mq-deadline" } },
        "record": record,
        "result": result,
    })
}

fn jobs() -> Vec<Value> {
    let rstat = json!({ "cpu_util": pcts(0.4), "io_bps": [pcts(1e8), pcts(5e7)], "psi_io": [pcts(0.2), pcts(0.1)],
        "vmstat": { "pgfault": pcts(1.0) } });
    let storage = json!({ "mem_offload_factor": 1.5, "mem_size": 17_000_000_000_u64, "all_rstat": rstat,
        "iolat": latencies(1e-4, 5e-3), "nr_reports": [900, 3] });
    let hog = json!({ "base_rps": 1029.0, "isol": pcts(0.94), "lat_imp": pcts(0.07), "work_csv": 0.6, "vrate": 75.3,
        "hog_bytes": 1_000_000_u64, "periods": [[2000, 2600]] });
    let run = |begin_s: u64, ovr: Value| json!({ "period": [begin_s, begin_s + 500], "ovr": ovr });
    let no = json!({ "off": true, "min": null, "max": null, "rlat": null });
    let half = json!({ "off": false, "min": 50.0, "max": 50.0, "rlat": null });
    vec![
        job(
            "iocost-params",
            [1000, 1500],
            &json!({ "devnr": "259:0", "model": { "rbps": 2_000_000_000_u64, "rrandiops": 100_000 },
            "qos": { "rpct": 99.0, "rlat": 6439 } }),
            &json!(true),
        ),
        job("protection", [2000, 2700], &json!({ "scenarios": [] }), &json!({ "scenarios": [{ "MemHog": hog }] })),
        job("storage", [1500, 1990], &json!({ "mem_usages": [1.0, 2.0] }), &storage),
        job(
            "iocost-qos",
            [3000, 9000],
            &json!({ "runs": [run(3000, no), null, run(4000, half)] }),
            &json!({ "runs": [{ "stor": storage }, null, { "stor": storage, "vrate": pcts(50.0) }] }),
        ),
        job("iocost-tune", [9000, 9000], &json!({}), &json!({ "solutions": { "naive": { "scale_factor": 1.0 } } })),
    ]
}

fn read(text: &str) -> Result<ImportedRun, ImportError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("result.json");
    std::fs::write(&path, text).unwrap();
    formats::read("resctl-bench", &[path])
}

#[test]
fn jobs_and_runs_become_phases_and_their_results_a_row_each() {
    let imported = read(&serde_json::to_string_pretty(&jobs()).unwrap()).unwrap();
    assert!(imported.findings.is_empty(), "{:?}", imported.findings);
    assert_eq!(imported.status, Some(RunStatus::Complete));
    let dir = tempfile::tempdir().unwrap();
    imported.write(dir.path()).unwrap();
    let recording = Recording::open(dir.path()).unwrap();
    let labels: Vec<&str> = recording.plan.phases.iter().map(|phase| phase.label.as_str()).collect();
    let expected = [
        "iocost-params",
        "storage",
        "protection",
        "iocost-qos, iocost.off = true",
        "iocost-qos, iocost.min = 50.0, iocost.max = 50.0",
    ];
    assert_eq!(labels, expected);
    assert_eq!(recording.plan.phases[4].settings["iocost.min"], 50.0);
    let table = recording.samples("result").unwrap();
    let ends: Vec<f64> = table.t_ns.iter().map(|t_ns| recording.seconds(*t_ns)).collect();
    assert_eq!(ends, [500.0, 990.0, 1700.0, 2500.0, 3500.0]);
    let value = |column: &str, row: usize| table.column(column).unwrap()[row];
    assert_eq!(value("model.rbps", 0), Some(2e9));
    assert_eq!(value("mem_offload_factor", 1), Some(1.5));
    assert_eq!(value("mem_offload_factor", 2), None);
    assert_eq!(value("all_rstat.io_bps.write", 1), Some(5e7));
    assert_eq!(value("all_rstat.psi_io.full", 1), Some(0.1));
    assert_eq!(value("iolat.write.p999", 1), Some(1e-2));
    assert_eq!(value("nr_reports.missing", 1), Some(3.0));
    assert_eq!(value("scenarios.1.MemHog.isol", 2), Some(0.94));
    assert_eq!(value("scenarios.1.MemHog.isol.p05", 2), Some(0.47));
    assert_eq!(value("vrate", 4), Some(50.0));
    assert!(!table.columns.iter().any(|column| column.name.contains("vmstat")));
    let unit = |name: &str| table.columns.iter().find(|column| column.name == name).unwrap().unit.clone();
    assert_eq!(["model.rbps", "iolat.read.p50", "mem_size", "vrate"].map(unit), ["B/s", "s", "B", "%"]);
    assert_eq!(imported.environment["device"]["model"], "WDC CL SN720");
    assert_eq!(imported.environment["imported"]["results"]["iocost-tune"]["solutions"]["naive"]["scale_factor"], 1.0);
}

#[test]
fn unfinished_jobs_and_unknown_versions_are_findings() {
    let mut all = jobs();
    all[2]["result"] = Value::Null;
    all[0]["sysinfo"]["bench_version"] = json!("3.1.0 x86_64-unknown-linux-gnu");
    let imported = read(&json!(all).to_string()).unwrap();
    let findings: Vec<(&str, &str)> =
        imported.findings.iter().map(|one| (one.id.as_str(), one.text.as_str())).collect();
    let [("import-unknown-version", version), ("import-cut-short", cut)] = findings.as_slice() else {
        panic!("{findings:?}")
    };
    assert!(version.contains("3.1.0") && cut.contains("storage"), "{findings:?}");
    assert_eq!(imported.status, Some(RunStatus::Interrupted));
}

#[test]
fn what_is_no_result_is_refused() {
    let refuse = |text: &str, word: &str| {
        let error = read(text).err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    };
    let whole = json!(jobs()).to_string();
    refuse(&whole[..whole.len() / 2], "JSON");
    refuse("{}", "array");
    refuse("[]", "no job");
    refuse("[1]", "job 1");
    refuse(r#"[{"spec":{"kind":"storage"},"started_at":1,"ended_at":2}]"#, "2.0");
    refuse(r#"[{"spec":{"kind":"storage"},"period":[0,0],"record":null,"result":null}]"#, "begun");
}
