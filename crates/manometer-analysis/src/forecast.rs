//! How wide the intervals of a planned run will be, and how long it has to be, from an earlier recording.
//!
//! A ladder is estimated from a ladder, rounds from rounds: what drifts from one phase to the next counts in one of them and
//! cancels in the other.

use manometer_measure::plan::{Phase, Plan};
use manometer_measure::{PhaseKind, Recording};
use serde::Serialize;

use crate::compare::differences_from_plan;
use crate::needed_length::{ComparedPhases, GREATEST_WIDTH, greatest_width, narrow_purpose};
use crate::phase_result::{PhaseResult, baseline, compared_phases, evaluate_phases};
use crate::recording_data::RecordingData;
use crate::verdict::judged_by;

/// The length of a planned run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlannedLength {
    /// Phases of a ladder.
    Phases {
        /// The length of each, in seconds.
        phase_s: f64,
    },
    /// Rounds of an interleaved plan.
    Rounds {
        /// Their number.
        rounds: usize,
        /// The measured length of a block, in seconds.
        block_s: f64,
    },
}

/// What an earlier recording says of a planned run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// The measured length of each planned phase, in seconds.
    pub phase_s: f64,
    /// The planned rounds; absent in a ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// The phases with neighbours that the plan and the earlier recording share.
    pub phases: Vec<PhaseForecast>,
    /// The planned phases with neighbours that the earlier recording does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// In what the earlier recording differs from the plan, as clauses; empty where its workloads are those of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// The measured length of a phase at which every interval is narrow enough in four of five repetitions, in seconds; null
    /// where nothing was measured, or no length is known to do.
    pub needed_s: Option<f64>,
    /// The rounds that make this length; absent in a ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_rounds: Option<usize>,
    /// Why nothing is estimated, or how the earlier recording differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The same for one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseForecast {
    /// The phase's id in the plan.
    pub id: String,
    /// Its label.
    pub label: String,
    /// The width that the interval of its pressure is expected to have; null where it would have none, or nothing was
    /// measured.
    pub width: Option<f64>,
    /// The greatest width that is narrow enough: [`GREATEST_WIDTH`] of the larger of the performances in `w0` and in the phase.
    pub needed_width: f64,
    /// As of the [`Forecast`], for this phase; the shortest with an interval where the earlier phase had none.
    pub needed_s: Option<f64>,
    /// The rounds that make this length; absent in a ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_rounds: Option<usize>,
}

impl PlannedLength {
    /// The measured length of each phase, in seconds.
    fn phase_s(self) -> f64 {
        match self {
            Self::Phases { phase_s } => phase_s,
            Self::Rounds { rounds, block_s } => rounds as f64 * block_s,
        }
    }

    fn rounds(self) -> Option<usize> {
        match self {
            Self::Phases { .. } => None,
            Self::Rounds { rounds, .. } => Some(rounds),
        }
    }
}

/// A planned run.
#[derive(Debug, Clone, Copy)]
pub struct PlannedExperiment<'a> {
    /// Its length.
    pub length: PlannedLength,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its experiment file.
    pub file: &'a str,
}

/// What `recording` says of a run as `experiment` plans it. Phases match by label and settings.
pub fn forecast(recording: &Recording, experiment: PlannedExperiment<'_>) -> Forecast {
    let planned = experiment.length;
    let data = RecordingData::read(recording);
    let recording = judged_by(recording, &data);
    let results = evaluate_phases(&recording, &data);
    let empty = |reason: Option<String>| Forecast {
        phase_s: planned.phase_s(),
        rounds: planned.rounds(),
        phases: Vec::new(),
        missing: Vec::new(),
        differences: differences(&recording, experiment),
        needed_s: None,
        needed_rounds: None,
        reason,
    };
    if recording.plan.interleaved.is_some() != planned.rounds().is_some() {
        return empty(Some(other_design(planned)));
    }
    let Some(baseline) = baseline(&results) else {
        return empty(Some("the earlier recording has no pressure to estimate from".to_owned()));
    };
    let wanted: Vec<&Phase> = experiment.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Pressure).collect();
    let same = |phase: &Phase| {
        results.iter().find(|result| {
            (result.phase.kind, &result.phase.label, &result.phase.settings)
                == (phase.kind, &phase.label, &phase.settings)
        })
    };
    let phases: Vec<PhaseForecast> = wanted
        .iter()
        .filter_map(|phase| {
            let forecast = of_phase(&recording, (baseline, same(phase)?), planned);
            Some(PhaseForecast { id: phase.id.clone(), ..forecast })
        })
        .collect();
    let missing: Vec<String> =
        wanted.iter().filter(|phase| same(phase).is_none()).map(|phase| phase.id.clone()).collect();
    if phases.is_empty() {
        return Forecast { missing, ..empty(Some("the earlier recording has no phase of the plan".to_owned())) };
    }
    let longest = phases.iter().filter(|phase| phase.needed_s.is_some());
    let longest =
        longest.max_by(|one, other| one.needed_s.partial_cmp(&other.needed_s).unwrap_or(std::cmp::Ordering::Equal));
    let (needed_s, needed_rounds) = longest.map_or((None, None), |phase| (phase.needed_s, phase.needed_rounds));
    Forecast { phases, missing, needed_s, needed_rounds, ..empty(other_blocks(&recording, planned)) }
}

/// In what the workloads and the sample interval of `recording` differ from those of `experiment`.
fn differences(recording: &Recording, experiment: PlannedExperiment<'_>) -> Vec<String> {
    let mut differences = differences_from_plan(recording, experiment.file, experiment.plan);
    let (earlier_s, planned_s) = (recording.plan.interval_s, experiment.plan.interval_s);
    if (earlier_s - planned_s).abs() > 1e-9 {
        differences.push(format!(
            "the sample interval is {planned_s} s in the plan and {earlier_s} s in the earlier recording"
        ));
    }
    differences
}

fn other_design(planned: PlannedLength) -> String {
    let (planned, earlier) = match planned {
        PlannedLength::Phases { .. } => ("a ladder", "interleaved"),
        PlannedLength::Rounds { .. } => ("interleaved", "a ladder"),
    };
    format!("the plan is {planned} and the earlier recording {earlier}: record a run of the same design")
}

/// How the blocks of the earlier recording differ from the planned ones.
fn other_blocks(recording: &Recording, planned: PlannedLength) -> Option<String> {
    let PlannedLength::Rounds { block_s, .. } = planned else { return None };
    let earlier_s = recording.plan.interleaved.as_ref()?.measured_s();
    let is_other = (earlier_s - block_s).abs() > 1e-9;
    is_other.then(|| {
        format!(
            "the blocks of the earlier recording are measured for {earlier_s:.1} s, the planned ones for {block_s:.1} s: the \
             estimate is rather too wide"
        )
    })
}

fn of_phase(
    recording: &Recording,
    (baseline, result): (&PhaseResult<'_>, &PhaseResult<'_>),
    planned: PlannedLength,
) -> PhaseForecast {
    let better = recording.plan.criterion.better;
    let compared = as_planned(compared_phases(recording, baseline, result), planned);
    let shortest_s = result.shortest_s().unwrap_or(0.0);
    let (factor, least) = match (&compared, planned) {
        (ComparedPhases::Rounds { rounds, .. }, PlannedLength::Rounds { rounds: planned, .. }) => {
            // An advice may be any number of rounds that has an interval.
            (planned as f64 / rounds.len() as f64, f64::MIN_POSITIVE.max(1.0 / rounds.len() as f64))
        }
        _ => (planned.phase_s() / result.length_s(), shortest_s / result.length_s()),
    };
    let has_interval = matches!(planned, PlannedLength::Rounds { .. }) || planned.phase_s() >= shortest_s;
    let needed_width = result.pressure.value.map_or(GREATEST_WIDTH, |pressure| greatest_width(pressure, better));
    let needed = compared.least_length(needed_width, better, least.min(1.0), &narrow_purpose(needed_width));
    let needed = needed.filter(|_| result.performance.estimate.mean.is_some());
    PhaseForecast {
        id: result.phase.id.clone(),
        label: result.phase.label.clone(),
        width: compared.expected_width(factor, better).filter(|_| has_interval),
        needed_width,
        needed_s: needed.as_ref().map(|needed| needed.phase_s),
        needed_rounds: needed.and_then(|needed| needed.rounds),
    }
}

/// The measured rounds with the noise of the planned blocks: a shorter block varies more, at most as much as if its samples
/// were independent; a longer one is taken to vary as much.
fn as_planned<'a>(compared: ComparedPhases<'a>, planned: PlannedLength) -> ComparedPhases<'a> {
    match (compared, planned) {
        (ComparedPhases::Rounds { rounds, block_s, balanced }, PlannedLength::Rounds { block_s: planned_s, .. }) => {
            let scale = (block_s / planned_s).max(1.0).sqrt();
            ComparedPhases::Rounds { rounds: scaled_about_means(&rounds, scale), block_s: planned_s, balanced }
        }
        (compared, _) => compared,
    }
}

fn scaled_about_means(rounds: &[(f64, f64)], scale: f64) -> Vec<(f64, f64)> {
    let count = rounds.len() as f64;
    let sums = rounds.iter().fold((0.0, 0.0), |sums, round| (sums.0 + round.0, sums.1 + round.1));
    let scaled = |value: f64, sum: f64| sum / count + scale * (value - sum / count);
    rounds.iter().map(|round| (scaled(round.0, sums.0), scaled(round.1, sums.1))).collect()
}
