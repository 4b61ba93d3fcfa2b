//! Reads the arrangements and their loads, and simulates them below a progress bar.

use std::path::Path;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use manometer_cache::CacheError;
use manometer_cache::tier::workload::{TraceRequests, TraceSettings, read_trace};
use manometer_cache::tier::{
    Arrangement, ArrangementLoads, NamedLoad, SimulationProgress, TierLoad, TierOutcome, simulate_all, workload_loads,
};
use manometer_trace::open;

use super::args::Args;

/// A trace that every arrangement replays.
pub(super) struct TraceLoad {
    pub(super) trace: Arc<TraceRequests>,
    settings: TraceSettings,
    name: String,
}

impl TraceLoad {
    pub(super) fn read(path: &Path, args: &Args) -> Result<Self, CacheError> {
        let mut trace = open(path, &args.form.options(false)?)?;
        let requests = read_trace(&mut *trace.reader, args.object_size.0)?;
        if requests.requests.is_empty() {
            return Err(CacheError::Invalid(format!("{} has no requests", path.display())));
        }
        let settings = TraceSettings { threads: args.threads, is_direct: args.direct };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { trace: Arc::new(requests), settings, name })
    }
}

/// The arrangement of a file and its loads: the trace, or its own workloads.
pub(super) fn arrangement_loads(
    path: &Path,
    args: &Args,
    trace: Option<&TraceLoad>,
) -> Result<ArrangementLoads, CacheError> {
    let mut arrangement = Arrangement::load(path)?;
    arrangement.scale = if trace.is_some() { 1 } else { args.scale.unwrap_or(arrangement.scale) };
    let invalid = |text: String| CacheError::Invalid(format!("{}: {text}", path.display()));
    arrangement.validate().map_err(invalid)?;
    let loads = match trace {
        Some(TraceLoad { trace, settings, name }) => {
            vec![NamedLoad { name: name.clone(), load: TierLoad::Trace(Arc::clone(trace), *settings) }]
        }
        None => workload_loads(&arrangement, &args.workload).map_err(|error| invalid(error.to_string()))?,
    };
    Ok(ArrangementLoads { arrangement, loads })
}

/// The progress bar.
struct Bar(ProgressBar);

impl SimulationProgress for Bar {
    fn add_steps(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }
}

/// Simulates all of them.
pub(super) fn simulate(requested: &[ArrangementLoads]) -> Result<Vec<TierOutcome>, CacheError> {
    let style = ProgressStyle::with_template("simulating {bar:40} {percent} %, {eta} left");
    let bar = Bar(ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())));
    bar.0.tick();
    let outcomes = simulate_all(requested, &bar);
    bar.0.finish_and_clear();
    outcomes
}
