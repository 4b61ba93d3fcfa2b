//! The criterion of the primary in a phase, one number per sample interval.

use manometer_measure::{Phase, PhaseKind, Recording};

use crate::criterion::Metric;
use crate::measured_time::MeasuredTime;
use crate::recording_data::RecordingData;
use crate::time_series::{TimeSeries, TimeWindow, latency, throughput};

pub(crate) const SOLO: &str = "the primary does not run in a solo phase";

/// The criterion in each interval of `time` of `phase`, or why there is none.
pub(crate) fn criterion_series(
    recording: &Recording,
    data: &RecordingData,
    phase: &Phase,
    time: &MeasuredTime,
) -> Result<Vec<TimeSeries>, String> {
    let primary = recording.plan.primary().ok_or("the experiment has no primary")?;
    if phase.kind == PhaseKind::Solo {
        return Err(SOLO.to_owned());
    }
    let metric = Metric::of(&recording.plan.criterion).map_err(|error| error.to_string())?;
    time.windows().iter().map(|window| in_window(recording, data, &primary.name, &metric, *window)).collect()
}

/// The criterion of the workload `primary` in one interval.
fn in_window(
    recording: &Recording,
    data: &RecordingData,
    primary: &str,
    metric: &Metric,
    window: TimeWindow,
) -> Result<TimeSeries, String> {
    match metric {
        Metric::Throughput(unit) => {
            let samples = data.samples(primary).ok_or_else(|| no_samples(primary))?;
            Ok(throughput(samples, *unit, window, recording.plan.interval_s))
        }
        Metric::Latency { operation, response, percentile, ns_per_unit } => {
            let tag = if *response { data.latency.response_tag(operation) } else { operation.clone() };
            Ok(latency(&data.latency, &tag, *percentile, *ns_per_unit, window.bounds_s(recording)))
        }
    }
}

/// Why a workload has no performance.
pub(crate) fn no_samples(workload: &str) -> String {
    format!("the recording has no readable samples of `{workload}`")
}
