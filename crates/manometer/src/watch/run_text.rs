//! A run as lines of text, for the screen and for one sample.

use serde_json::json;

use super::run_state::{RunState, WorkloadState};
use crate::number::{duration, latency, number};

/// The characters of a strip, from nothing to the highest rate in it.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The phase and the time left, a line for each workload, and what the run shows so far.
pub(super) fn lines(run: &RunState) -> Vec<String> {
    let width = run.workloads.iter().map(|workload| workload.name.chars().count()).max().unwrap_or_default();
    let mut lines = vec![format!("{}: {}", run.experiment, progress(run))];
    lines.extend(run.workloads.iter().map(|workload| workload_line(workload, width)));
    lines.extend(run.so_far.iter().map(|claim| format!("so far: {claim}")));
    lines
}

fn progress(run: &RunState) -> String {
    if let Some(status) = run.status {
        return json!(status).as_str().unwrap_or_default().to_owned();
    }
    let left = duration(run.left_s);
    let Some(phase) = &run.phase else { return format!("preparing; {left} of phases to come") };
    let round = phase.round.map(|round| format!(", round {round}")).unwrap_or_default();
    format!("{} ({}){round}, {:.0} s left in it, {left} in the run", phase.id, phase.label, phase.left_s)
}

fn workload_line(workload: &WorkloadState, width: usize) -> String {
    let WorkloadState { name, unit, rates, p99_us } = workload;
    let rate = rates.last().map_or_else(|| "–".to_owned(), |rate| format!("{} {unit}", number(*rate)));
    let p99 = p99_us.map_or_else(String::new, |us| format!("p99 {}", latency(us)));
    format!("{name:width$}  {rate:>16}  {p99:14}  {}", strip(rates)).trim_end().to_owned()
}

/// Rates as bars, relative to the highest of them.
fn strip(rates: &[f64]) -> String {
    let most = rates.iter().copied().fold(0.0, f64::max);
    let bar = |rate: &f64| {
        let level = if most > 0.0 { rate / most * (BARS.len() - 1) as f64 } else { 0.0 };
        BARS[(level.round() as usize).min(BARS.len() - 1)]
    };
    rates.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use manometer_measure::event::RunStatus;

    use super::super::run_state::PhaseState;
    use super::*;

    fn run() -> RunState {
        let workload = |name: &str, unit: &str, rates: &[f64], p99_us| WorkloadState {
            name: name.to_owned(),
            unit: unit.to_owned(),
            rates: rates.to_vec(),
            p99_us,
        };
        RunState {
            experiment: "a reader".to_owned(),
            status: None,
            phase: Some(PhaseState { id: "w1".into(), label: "depth 4".into(), round: None, left_s: 12.3 }),
            left_s: 75.0,
            workloads: vec![
                workload("primary", "ops/s", &[0.0, 700.0, 1400.0], Some(250.0)),
                workload("writer", "MiB/s", &[], None),
            ],
            so_far: Some("it loses a third".to_owned()),
        }
    }

    #[test]
    fn a_run_shows_its_phase_its_workloads_and_what_it_shows_so_far() {
        let lines = lines(&run());
        assert_eq!(lines[0], "a reader: w1 (depth 4), 12 s left in it, 1m 15s in the run");
        assert!(lines[1].starts_with("primary") && lines[1].contains("1 400 ops/s"), "{}", lines[1]);
        assert!(lines[1].contains("p99 250") && lines[1].ends_with("▁▅█"), "{}", lines[1]);
        assert!(lines[2].starts_with("writer ") && lines[2].ends_with('–'), "{}", lines[2]);
        assert_eq!(lines[3], "so far: it loses a third");
    }

    #[test]
    fn a_run_that_prepares_and_one_that_ended_say_so() {
        let preparing = RunState { phase: None, ..run() };
        assert_eq!(lines(&preparing)[0], "a reader: preparing; 1m 15s of phases to come");
        let ended = RunState { status: Some(RunStatus::Complete), ..run() };
        assert_eq!(lines(&ended)[0], "a reader: complete");
    }
}
