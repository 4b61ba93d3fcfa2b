//! The use of each core over time.

use std::rc::Rc;

use manometer_measure::Samples;
use serde::Serialize;

use crate::charts::chart::{Chart, ChartContent, ChartInput};
use crate::downsample::{SILENT_INTERVALS, bucket_size};
use crate::recording_reader::RecordingReader;
use crate::text;

pub(crate) const CHART: Chart = Chart {
    name: "cpu-cores",
    title: "Processor use by core",
    origin: None,
    caption: "A row for each core, time across: dark is idle, bright is busy in programs, in the kernel, with \
              interrupts or stolen by the hypervisor. One bright row among dark ones is a thread that limits all \
              others.",
    spec: include_str!("../../../charts/cpu-cores.vl.json"),
    input: ChartInput::OneRecording(draw),
};

/// Stretches of time at most.
const LIMIT: usize = 150;
const SERIES: &str = "cpu.cores";
const KINDS: [&str; 4] = ["user", "system", "interrupts", "steal"];

/// One core in one interval, or the band of a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct CoreCell {
    /// `core` or `phase`.
    row: &'static str,
    core: Option<String>,
    core_order: Option<u32>,
    phase: Option<String>,
    t_s: f64,
    end_s: f64,
    busy: Option<f64>,
    kernel: Option<f64>,
    iowait: Option<f64>,
}

fn draw(reader: &RecordingReader) -> ChartContent {
    let Some(samples) = reader.samples(SERIES) else {
        return ChartContent::empty("The recording holds no samples of single cores: this chart is left out.");
    };
    let stretches = stretches(reader, &samples);
    let (mut rows, mut words) = (Vec::new(), Vec::new());
    for core in cores(&samples) {
        let from = rows.len();
        rows.extend(stretches.iter().filter_map(|stretch| row(&samples, core, stretch)));
        let busy: Vec<f64> = rows[from..].iter().filter_map(|row: &CoreCell| row.busy).collect();
        let mean = busy.iter().sum::<f64>() / busy.len().max(1) as f64;
        words.push(format!("core {core} busy for {} % of the time", text::number(100.0 * mean)));
    }
    if rows.is_empty() {
        return ChartContent::empty("No core has a sample: this chart is left out.");
    }
    rows.extend(reader.spans().into_iter().map(|span| CoreCell {
        row: "phase",
        phase: Some(span.phase.id.clone()),
        t_s: span.begin_s,
        end_s: span.end_s,
        ..CoreCell::default()
    }));
    ChartContent::of(&rows, &words, Vec::new())
}

/// The numbers of the cores, in order.
fn cores(samples: &Rc<Samples>) -> Vec<u32> {
    let number = |name: &str| name.strip_prefix("core")?.strip_suffix(".user")?.parse().ok();
    let mut cores: Vec<u32> = samples.columns.iter().filter_map(|column| number(&column.name)).collect();
    cores.sort_unstable();
    cores
}

/// Neighbouring samples that are shown as one, without a silence between them.
struct SampleRun {
    rows: std::ops::Range<usize>,
    begin_s: f64,
    end_s: f64,
}

fn stretches(reader: &RecordingReader, samples: &Samples) -> Vec<SampleRun> {
    let times: Vec<f64> = samples.t_ns.iter().map(|t_ns| reader.recording.seconds(*t_ns)).collect();
    let interval_s = reader.recording.plan.interval_s;
    let size = bucket_size(times.len(), LIMIT);
    let mut stretches = Vec::new();
    let mut first = 0;
    for run in times.chunk_by(|left, right| right - left <= SILENT_INTERVALS * interval_s) {
        for part in run.chunks(size) {
            let rows = first..first + part.len();
            // The first sample of a run covers the interval before it.
            let begin_s = if part[0] == run[0] { part[0] - interval_s } else { times[first - 1] };
            first = rows.end;
            stretches.push(SampleRun { begin_s: begin_s.max(0.0), end_s: part[part.len() - 1], rows });
        }
    }
    stretches
}

fn row(samples: &Samples, core: u32, stretch: &SampleRun) -> Option<CoreCell> {
    let mean = |kind: &str| {
        let values = samples.column(&format!("core{core}.{kind}"))?[stretch.rows.clone()].iter().flatten();
        let values = values.filter(|value| value.is_finite());
        let count = values.clone().count();
        (count > 0).then(|| values.sum::<f64>() / count as f64)
    };
    let busy = KINDS.iter().filter_map(|kind| mean(kind)).reduce(|left, right| left + right)?;
    Some(CoreCell {
        row: "core",
        core: Some(core.to_string()),
        core_order: Some(core),
        phase: None,
        t_s: stretch.begin_s,
        end_s: stretch.end_s,
        busy: Some(busy.min(1.0)),
        kernel: mean("system"),
        iowait: mean("iowait"),
    })
}
