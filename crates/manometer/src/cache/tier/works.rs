//! What is to be simulated, and its simulation over all cores.

use std::path::Path;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use manometer_cache::CacheError;
use manometer_cache::tier::workload::{TraceRequests, TraceSettings, read_trace};
use manometer_cache::tier::{Arrangement, Load, Outcome, run};
use manometer_trace::open;
use rayon::prelude::*;

use super::{Compared, TierArgs};

/// A trace that is asked of every arrangement.
pub(super) struct Traced {
    pub(super) trace: Arc<TraceRequests>,
    settings: TraceSettings,
    name: String,
}

impl Traced {
    pub(super) fn read(path: &Path, args: &TierArgs) -> Result<Self, CacheError> {
        let mut trace = open(path, &args.form.options(false)?)?;
        let requests = read_trace(&mut *trace.reader, args.object_size.0)?;
        if requests.requests.is_empty() {
            return Err(CacheError::Wrong(format!("{} has no requests", path.display())));
        }
        let settings = TraceSettings { threads: args.threads, is_direct: args.direct };
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { trace: Arc::new(requests), settings, name })
    }
}

/// An arrangement and what is asked of it.
pub(super) struct Work {
    pub(super) arrangement: Arrangement,
    pub(super) workload: String,
    load: Load,
}

/// What an arrangement did.
pub(super) struct Done {
    pub(super) work: Work,
    pub(super) outcome: Outcome,
    pub(super) compared: Option<Compared>,
}

/// What is to be simulated of an arrangement: under each workload that is asked for, itself, and with each cache that is
/// to be tried instead.
pub(super) fn of(path: &Path, args: &TierArgs, traced: Option<&Traced>) -> Result<Vec<Work>, CacheError> {
    let mut arrangement = Arrangement::load(path)?;
    arrangement.scale = if traced.is_some() { 1 } else { args.scale.unwrap_or(arrangement.scale) };
    arrangement.check().map_err(|text| CacheError::Wrong(format!("{}: {text}", path.display())))?;
    let loads = match traced {
        Some(traced) => vec![(traced.name.clone(), Load::Trace(Arc::clone(&traced.trace), traced.settings))],
        None => workloads(path, &arrangement, &args.workload)?,
    };
    let all = std::iter::once(arrangement.clone()).chain(arrangement.swept());
    Ok(all
        .flat_map(|arrangement| {
            loads.iter().map(move |(workload, load)| Work {
                arrangement: arrangement.clone(),
                workload: workload.clone(),
                load: load.clone(),
            })
        })
        .collect())
}

fn workloads(path: &Path, arrangement: &Arrangement, wanted: &[String]) -> Result<Vec<(String, Load)>, CacheError> {
    let known: Vec<&String> = arrangement.workloads.keys().collect();
    let wanted: Vec<&String> = if wanted.is_empty() { known.clone() } else { wanted.iter().collect() };
    let load = |name: &String| match arrangement.workloads.get(name) {
        Some(settings) => Ok((name.clone(), Load::Workload(settings.clone()))),
        None => Err(CacheError::Wrong(format!(
            "{} knows no workload `{name}`: there are {}",
            path.display(),
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ))),
    };
    wanted.into_iter().map(load).collect()
}

/// Simulates everything, and finds how many devices do as much where that is asked.
pub(super) fn simulate(works: Vec<Work>) -> Result<Vec<Done>, CacheError> {
    let bar = ProgressBar::new(works.len() as u64).with_style(
        ProgressStyle::with_template("simulating {bar:40} {pos}/{len}, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.tick();
    let simulated = works.into_par_iter().with_max_len(1).map(|work| {
        let outcome = run(&work.arrangement, &work.load)?;
        let compared = compare(&work, &outcome)?;
        bar.inc(1);
        Ok(Done { work, outcome, compared })
    });
    let simulated = simulated.collect();
    bar.finish_and_clear();
    simulated
}

/// The smallest number of devices without a cache that do as much.
fn compare(work: &Work, outcome: &Outcome) -> Result<Option<Compared>, CacheError> {
    let Some(equal) = work.arrangement.equal else { return Ok(None) };
    for (count, raid) in equal.counts() {
        let other = work.arrangement.without_cache(count, raid);
        // So few devices may be too small for what the arrangement holds.
        if other.check().is_ok() && run(&other, &work.load)?.mb_per_s >= outcome.mb_per_s {
            return Ok(Some(Compared { equal, count: Some(count) }));
        }
    }
    Ok(Some(Compared { equal, count: None }))
}
