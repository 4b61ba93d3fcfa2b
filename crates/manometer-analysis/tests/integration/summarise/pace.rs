//! Findings about the client and the open loop, on synthetic recordings.

use manometer_analysis::summarise;
use manometer_analysis::summary::RunSummary;
use manometer_measure::clock::WallAnchor;
use manometer_measure::event::{Event, RunStatus, Severity};
use manometer_measure::latency_log::response_tag;
use manometer_measure::plan::PhaseKind;
use manometer_measure::{Column, LatencyHistogram, RecordingWriter};
use serde_json::json;

use crate::synthetic::{at, find, open, phase, plan};

const SECOND: u64 = 1_000_000_000;

/// A phase of 30 s at 800 requests per second with a service time of 1 ms.
struct Case {
    headroom: Option<f64>,
    /// That of each client, where several share the load.
    clients: &'static [f64],
    /// The response time; `None` in a closed loop.
    response_us: Option<u64>,
    dropped_per_s: f64,
    metric: &'static str,
}

const CLOSED: Case = Case { headroom: None, clients: &[], response_us: None, dropped_per_s: 0.0, metric: "throughput" };

fn run(case: &Case) -> RunSummary {
    let dir = tempfile::tempdir().unwrap();
    let mut plan = plan(vec![phase("w0", PhaseKind::Baseline, 30, 1)]);
    plan.criterion.metric = case.metric.into();
    if case.metric != "throughput" {
        plan.criterion.unit = "us".into();
    }
    let start = WallAnchor { monotonic_ns: at(0), unix_ns: 1_700_000_000 * SECOND };
    let mut writer = RecordingWriter::create(dir.path(), start, "", &plan, &json!({"host": {}})).unwrap();
    let client = |headroom: &f64| json!({ "on": "ssh node manometer", "headroom_ops_per_s": headroom });
    let clients = json!(case.clients.iter().map(client).collect::<Vec<_>>());
    let facts = [("headroom_ops_per_s", json!(case.headroom)), ("clients", clients)];
    let facts = facts.map(|(name, fact)| (name.to_owned(), fact)).into_iter().collect();
    writer.event(at(0), Event::Ready { workload: "db".into(), facts }).unwrap();
    let columns = [("length", "s"), ("read.requests", ""), ("read.bytes", "B"), ("read.retries", ""), ("dropped", "")];
    writer.begin_series("db", &columns.map(|(name, unit)| Column::new(name, unit))).unwrap();
    writer.event(at(0), Event::PhaseStarted { phase: "w0".into() }).unwrap();
    for second in 1..=30 {
        let row = [1.0, 800.0, 0.0, 0.0, case.dropped_per_s].map(Some);
        writer.sample("db", at(second), &row).unwrap();
        let mut log = |tag: &str, us: u64| {
            let mut histogram = LatencyHistogram::new();
            histogram.record_many(us * 1000, 800);
            writer.latency("db", tag, at(second - 1), at(second), &histogram).unwrap();
        };
        log("read", 1000);
        if let Some(response_us) = case.response_us {
            log(&response_tag("read"), response_us);
        }
    }
    writer.event(at(30), Event::PhaseEnded { phase: "w0".into() }).unwrap();
    writer.finish(at(30), RunStatus::Complete).unwrap();
    summarise(&open(dir.path()))
}

fn ids(summary: &RunSummary) -> Vec<&str> {
    summary.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_client_bottleneck_is_the_first_finding() {
    let summary = run(&Case { headroom: Some(1000.0), dropped_per_s: 1.0, ..CLOSED });
    let first = &summary.findings[0];
    assert_eq!((first.id.as_str(), first.severity), ("client-bottleneck", Severity::Warning));
    assert!(first.text.contains("800 ops/s, 80 % of the 1000 ops/s"), "{}", first.text);
    assert!(!first.text.contains("clients"), "{}", first.text);
    let shared = run(&Case { headroom: Some(1000.0), clients: &[900.0, 500.0], ..CLOSED });
    let least = "Each of the 2 clients gets an equal part of the load, and client 2 on `ssh node manometer` has the least \
                 headroom, 500 ops/s.";
    assert!(shared.findings[0].text.contains(least), "{}", shared.findings[0].text);
    for headroom in [Some(1200.0), None] {
        assert!(!ids(&run(&Case { headroom, ..CLOSED })).contains(&"client-bottleneck"), "{headroom:?}");
    }
}

#[test]
fn dropped_requests_are_reported_with_their_share() {
    let summary = run(&Case { dropped_per_s: 200.0, response_us: Some(1100), ..CLOSED });
    assert_eq!(ids(&summary), ["requests-dropped"]);
    assert!(summary.findings[0].text.contains("6000 requests of w0 (20.0 %)"), "{}", summary.findings[0].text);
    for (headroom, who) in
        [(None, "The client or the store"), (Some(1000.0), "The client or the store"), (Some(9000.0), "The store")]
    {
        let summary = run(&Case { headroom, dropped_per_s: 200.0, ..CLOSED });
        let text = &summary.findings.iter().find(|finding| finding.id == "requests-dropped").unwrap().text;
        assert!(text.contains(&format!("latency. {who} does not keep up")), "{headroom:?}: {text}");
    }
}

#[test]
fn coordinated_omission_is_reported_and_both_times_are_summarised() {
    let summary = run(&Case { response_us: Some(9000), ..CLOSED });
    // It kept its rate: the response time is judged.
    assert_eq!(summary.criterion.metric, "response.read.p99");
    assert_eq!(ids(&summary), ["paced-throughput", "coordinated-omission"]);
    let waited = &summary.findings[1];
    assert!(waited.threat.is_none() && waited.text.ends_with(" The criterion counts that wait."), "{waited:?}");
    let service = run(&Case { response_us: Some(9000), metric: "latency.read.p99", ..CLOSED });
    let waited = service.findings.iter().find(|finding| finding.id == "coordinated-omission").unwrap();
    assert!(waited.threat.is_some() && waited.text.ends_with("Use a `response.…` criterion."), "{waited:?}");
    let w0 = find(&summary, "w0");
    let p99 = |of: &std::collections::BTreeMap<String, manometer_analysis::summary::LatencySummary>| of["read"].p99;
    assert!(p99(&w0.response_us) > p99(&w0.latency_us).map(|us| 8.0 * us));
    assert_eq!(w0.latency_us.len(), 1, "the tag of response times is not an operation");
    let closed = run(&CLOSED);
    assert!(find(&closed, "w0").response_us.is_empty() && closed.findings.is_empty());
}

#[test]
fn a_response_time_can_be_the_criterion() {
    let mean = |response_us, metric| {
        let summary = run(&Case { response_us, metric, ..CLOSED });
        find(&summary, "w0").performance.mean.unwrap()
    };
    assert!((mean(Some(9000), "response.read.p99") - 9000.0).abs() < 10.0);
    assert!((mean(Some(9000), "latency.read.p99") - 1000.0).abs() < 2.0);
    assert!((mean(None, "response.read.p99") - 1000.0).abs() < 2.0, "in a closed loop both are equal");
}
