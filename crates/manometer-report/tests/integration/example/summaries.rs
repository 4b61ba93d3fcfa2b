//! What the analysis would say of the examples, by hand.

use std::collections::BTreeMap;

use manometer_analysis::summary::{
    IntervalEstimate, LatencySummary, MeanEstimate, NeighbourSummary, PhaseSummary, RunSummary, UntestedPhase,
};
use manometer_analysis::verdict::{Grade, Reason, Verdict};
use manometer_measure::event::{Finding, Threat, ThreatStrength, ThreatTarget};
use manometer_measure::plan::PhaseKind;
use manometer_measure::{Event, Recording, Severity};

use super::{HOSTILE, Script, criterion, long_phases, phases, settings};

const MIB: f64 = 1_048_576.0;

/// How sure a summary is.
#[derive(Clone, Copy, PartialEq)]
enum Sure {
    Intervals,
    QuantilesOnly,
}

fn times(recording: &Recording, id: &str) -> (Option<f64>, Option<f64>) {
    let mut times = (None, None);
    for line in &recording.events {
        match &line.event {
            Event::PhaseStarted { phase } if phase == id => times.0 = Some(recording.seconds(line.t_ns)),
            Event::PhaseEnded { phase } if phase == id => times.1 = Some(recording.seconds(line.t_ns)),
            _ => {}
        }
    }
    if times.1.is_some() { times } else { (None, None) }
}

fn estimate(mean: f64, unit: &str, script: &Script, sure: Sure) -> MeanEstimate {
    let quantiles = [0.84, 0.9, 0.99, 1.07, 1.15].map(|share| share * mean);
    let mut estimate = MeanEstimate {
        mean: Some(mean),
        samples: script.seconds as usize,
        unit: unit.into(),
        quantiles: Some(quantiles),
        ..MeanEstimate::default()
    };
    match sure {
        Sure::Intervals => {
            estimate.ci_low = Some(mean * 0.975);
            estimate.ci_high = Some(mean * 1.025);
        }
        Sure::QuantilesOnly => estimate.reason = Some("too few batches of three autocorrelation times".into()),
    }
    estimate
}

fn pressure(script: &Script, alone: f64, sure: Sure) -> IntervalEstimate {
    let value = (alone - script.rate) / alone;
    match (script.kind, sure) {
        (PhaseKind::Baseline, _) => {
            IntervalEstimate { value: Some(0.0), ci_low: Some(0.0), ci_high: Some(0.0), ..Default::default() }
        }
        (_, Sure::Intervals) => IntervalEstimate {
            value: Some(value),
            ci_low: Some(value - 0.03),
            ci_high: Some(value + 0.028),
            ..IntervalEstimate::default()
        },
        (_, Sure::QuantilesOnly) => IntervalEstimate {
            value: Some(value),
            reason: Some("no interval of its performance".into()),
            ..IntervalEstimate::default()
        },
    }
}

fn latencies(script: &Script) -> BTreeMap<String, LatencySummary> {
    let of = |factor: f64, samples| LatencySummary {
        p50: Some(script.latency_us * factor * 1.6),
        p90: Some(script.latency_us * factor * 4.1),
        p99: Some(script.latency_us * factor * 16.0),
        p999: Some(script.latency_us * factor * 60.0),
        max: Some(script.latency_us * factor * 64.0),
        samples,
    };
    BTreeMap::from([("read".into(), of(1.0, 400 * script.seconds)), ("update".into(), of(0.4, 80 * script.seconds))])
}

fn phase(recording: &Recording, script: &Script, alone: f64, sure: Sure) -> PhaseSummary {
    let (start_s, end_s) = times(recording, &script.id);
    let mut phase = PhaseSummary {
        id: script.id.clone(),
        label: script.label.clone(),
        kind: script.kind,
        start_s,
        end_s,
        blocks: Vec::new(),
        steady: (sure == Sure::Intervals).then_some(script.id != "w3"),
        settings: settings("writer", script),
        performance: MeanEstimate { unit: "ops/s".into(), ..MeanEstimate::default() },
        pressure: IntervalEstimate::default(),
        scale_state: None,
        neighbours: BTreeMap::new(),
        fairness: None,
        pressures: BTreeMap::new(),
        latency_us: BTreeMap::new(),
        response_us: BTreeMap::new(),
    };
    if start_s.is_some() {
        phase.performance = estimate(script.rate, "ops/s", script, sure);
        phase.pressure = pressure(script, alone, sure);
        phase.latency_us = latencies(script);
        let neighbour = script.neighbour.map(|(bytes, _)| NeighbourSummary {
            performance: estimate(bytes / MIB, "MiB/s", script, sure),
            pressure: IntervalEstimate::default(),
        });
        phase.neighbours = neighbour.into_iter().map(|neighbour| ("writer".to_owned(), neighbour)).collect();
    }
    phase
}

fn summary(recording: &Recording, scripts: &[Script], sure: Sure) -> RunSummary {
    let measured: Vec<&Script> = scripts.iter().filter(|script| script.kind != PhaseKind::Warmup).collect();
    let alone = measured[0].rate;
    RunSummary {
        manometer: "0.1.0".into(),
        experiment: recording.plan.experiment.clone(),
        status: "complete".into(),
        criterion: criterion(),
        headline: String::new(),
        claim: String::new(),
        claim_phase: None,
        verdict: Verdict::default(),
        goal: None,
        interleaved: None,
        scale_rule: "in order of pressure, a phase begins a new step when its pressure differs significantly (95 %, \
                     Holm-corrected) from that of the step's first phase"
            .into(),
        phases: measured.iter().map(|script| phase(recording, script, alone, sure)).collect(),
        scale: measured.iter().map(|script| vec![script.id.clone()]).collect(),
        untested: Vec::new(),
        scale_tests: Vec::new(),
        replays: Default::default(),
        findings: Vec::new(),
    }
}

fn finding(id: &str, severity: Severity, phase: Option<&str>, text: &str) -> Finding {
    Finding::new(id, severity, text).in_phases(phase)
}

/// The verdict of a summary whose warnings and errors are serious threats.
fn with_verdict(summary: RunSummary) -> RunSummary {
    let threat = Threat { strength: ThreatStrength::Serious, to: ThreatTarget::Result };
    let reason = |finding: &Finding| Reason {
        id: finding.id.clone(),
        threat,
        allows: Grade::Indicative,
        phases: finding.phase_ids().map(str::to_owned).collect(),
        clause: "something happened".to_owned(),
        text: finding.text.clone(),
    };
    let serious = summary.findings.iter().filter(|finding| finding.severity > Severity::Info);
    let reasons: Vec<Reason> = serious.map(reason).collect();
    let grade = if reasons.is_empty() { Grade::Sound } else { Grade::Indicative };
    RunSummary { verdict: Verdict { grade, reasons, ..Verdict::default() }, ..summary }
}

pub fn complete_summary(recording: &Recording) -> RunSummary {
    with_verdict(RunSummary {
        headline: "Conditions writer.iodepth = 64 RocksDB keeps 31 % (±3) of its throughput".into(),
        scale: vec![vec!["w0".into()], vec!["w1".into()], vec!["w2".into(), "w3".into()]],
        findings: vec![
            finding("warm-up-long-enough", Severity::Info, None, "The warm-up ended before the first measured phase."),
            finding(
                "phase-not-steady",
                Severity::Warning,
                Some("w3"),
                "The throughput still fell at the end: measure for longer.",
            ),
        ],
        ..summary(recording, &phases(), Sure::Intervals)
    })
}

pub fn cut_summary(recording: &Recording) -> RunSummary {
    let mut scripts = phases();
    scripts.iter_mut().for_each(|script| script.seconds = 9);
    let mut summary = summary(recording, &scripts, Sure::QuantilesOnly);
    summary.status = "cut".into();
    summary.headline = "Conditions writer.iodepth = 1 RocksDB keeps 82 % of its throughput".into();
    let untested = |id: &str| UntestedPhase { id: id.into(), reason: "too short".into() };
    (summary.scale, summary.untested) = (Vec::new(), vec![untested("w0"), untested("w1")]);
    summary.phases[3].performance.reason = Some("the run ended before this phase".into());
    summary.findings = vec![
        finding("worker-failed", Severity::Error, None, "`writer` failed: No space left on device."),
        finding("phase-too-short", Severity::Warning, Some("w1"), "Nine samples are too few for an interval."),
    ];
    with_verdict(summary)
}

pub fn hostile_summary(recording: &Recording) -> RunSummary {
    let mut scripts = phases();
    scripts.truncate(3);
    scripts.iter_mut().for_each(|script| {
        script.seconds = 9;
        script.label = HOSTILE.into();
    });
    let mut summary = summary(recording, &scripts, Sure::QuantilesOnly);
    summary.status = HOSTILE.into();
    summary.headline = HOSTILE.into();
    summary.scale_rule = HOSTILE.into();
    for phase in &mut summary.phases {
        phase.performance.reason = Some(HOSTILE.into());
        phase.performance.unit = HOSTILE.into();
    }
    summary.findings = vec![finding(HOSTILE, Severity::Error, Some(HOSTILE), HOSTILE)];
    with_verdict(summary)
}

pub fn long_summary(recording: &Recording) -> RunSummary {
    RunSummary {
        headline: "Conditions writer.iodepth = 64 RocksDB keeps 27 % (±3) of its throughput".into(),
        ..summary(recording, &long_phases(), Sure::Intervals)
    }
}
