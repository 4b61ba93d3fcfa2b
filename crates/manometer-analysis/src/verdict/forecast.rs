//! How wide the intervals of a planned run will be, and how long its phases have to be, from an earlier recording.
//!
//! The width of an interval falls with the root of the phase's length as long as the noise is as before.

use manometer_measure::{PhaseKind, Recording};
use serde::Serialize;

use super::headline::narrowed_length_s;
use super::paced::judged_by;
use crate::phase_result::{PhaseResult, evaluate_phases};
use crate::recording_data::RecordingData;

/// The width of a pressure's interval that tells a loss of a tenth from none.
pub const WANTED_WIDTH: f64 = 0.1;

/// What an earlier recording says of phases of another length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// The length of the planned phases, in seconds.
    pub phase_s: f64,
    /// The phases with neighbours of the earlier recording.
    pub phases: Vec<PhaseForecast>,
    /// The phase length at which every interval is at most [`WANTED_WIDTH`] wide, in seconds; null where nothing was
    /// measured.
    pub needed_s: Option<f64>,
}

/// The same for one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseForecast {
    /// The phase's id in the earlier recording.
    pub id: String,
    /// Its label.
    pub label: String,
    /// The width that the interval of its pressure would have; null where it would have none, or nothing was measured.
    pub width: Option<f64>,
    /// The phase length at which the interval is at most [`WANTED_WIDTH`] wide, in seconds; the shortest with an interval
    /// where the earlier phase had none; null where nothing was measured.
    pub needed_s: Option<f64>,
}

/// What `recording` says of phases of `phase_s` seconds.
pub fn forecast(recording: &Recording, phase_s: f64) -> Forecast {
    let data = RecordingData::read(recording);
    let recording = judged_by(recording, &data);
    let results = evaluate_phases(&recording, &data);
    let phases = results.iter().filter(|result| result.phase.kind == PhaseKind::Pressure);
    let phases: Vec<PhaseForecast> = phases.map(|result| of_phase(result, phase_s)).collect();
    let needed_s = phases.iter().filter_map(|phase| phase.needed_s).max_by(f64::total_cmp);
    Forecast { phase_s, phases, needed_s }
}

fn of_phase(result: &PhaseResult<'_>, phase_s: f64) -> PhaseForecast {
    let shortest_s = result.shortest_s();
    let (width, needed_s) = match result.pressure.ci_low.zip(result.pressure.ci_high) {
        Some((low, high)) => {
            let has_interval = shortest_s.is_none_or(|shortest_s| phase_s >= shortest_s);
            let width = (high - low) * (result.length_s() / phase_s).sqrt();
            let needed_s = narrowed_length_s(result.length_s(), (high - low) / 2.0, WANTED_WIDTH / 2.0);
            (has_interval.then_some(width), Some(f64::max(needed_s, shortest_s.unwrap_or(0.0))))
        }
        None => (None, shortest_s),
    };
    PhaseForecast { id: result.phase.id.clone(), label: result.phase.label.clone(), width, needed_s }
}
