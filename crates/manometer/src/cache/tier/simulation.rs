//! What is to be simulated, and its simulation over all cores.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use manometer_cache::CacheError;
use manometer_cache::tier::workload::{TraceRequests, TraceSettings, read_trace};
use manometer_cache::tier::{Arrangement, TierLoad, TierResult, run_with_progress};
use manometer_trace::open;
use rayon::prelude::*;

use super::{Args, By, Compared};

/// A trace that is asked of every arrangement.
pub(super) struct Traced {
    pub(super) trace: Arc<TraceRequests>,
    settings: TraceSettings,
    name: String,
}

impl Traced {
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

/// An arrangement and what is asked of it.
pub(super) struct Work {
    pub(super) arrangement: Arrangement,
    pub(super) workload: String,
    load: TierLoad,
    /// The file that it is from: what differs within one is the size of the cache.
    file: usize,
}

/// What an arrangement did.
pub(super) struct Done {
    pub(super) work: Work,
    pub(super) outcome: TierResult,
    pub(super) compared: Option<Compared>,
}

/// What is to be simulated of an arrangement: under each workload that is asked for, itself, and with each cache that is
/// to be tried instead.
pub(super) fn of(file: usize, path: &Path, args: &Args, traced: Option<&Traced>) -> Result<Vec<Work>, CacheError> {
    let mut arrangement = Arrangement::load(path)?;
    arrangement.scale = if traced.is_some() { 1 } else { args.scale.unwrap_or(arrangement.scale) };
    arrangement.validate().map_err(|text| CacheError::Invalid(format!("{}: {text}", path.display())))?;
    let loads = match traced {
        Some(traced) => vec![(traced.name.clone(), TierLoad::Trace(Arc::clone(&traced.trace), traced.settings))],
        None => workloads(path, &arrangement, &args.workload)?,
    };
    let all = std::iter::once(arrangement.clone()).chain(arrangement.swept());
    Ok(all
        .flat_map(|arrangement| {
            loads.iter().map(move |(workload, load)| Work {
                arrangement: arrangement.clone(),
                workload: workload.clone(),
                load: load.clone(),
                file,
            })
        })
        .collect())
}

fn workloads(path: &Path, arrangement: &Arrangement, wanted: &[String]) -> Result<Vec<(String, TierLoad)>, CacheError> {
    let known: Vec<&String> = arrangement.workloads.keys().collect();
    let wanted: Vec<&String> = if wanted.is_empty() { known.clone() } else { wanted.iter().collect() };
    let load = |name: &String| match arrangement.workloads.get(name) {
        Some(settings) => Ok((name.clone(), TierLoad::Workload(settings.clone()))),
        None => Err(CacheError::Invalid(format!(
            "{} knows no workload `{name}`: there are {}",
            path.display(),
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ))),
    };
    wanted.into_iter().map(load).collect()
}

/// What the bar moves by for each simulation.
const STEPS: u64 = 1000;

/// Simulates everything, and finds how many devices do as much where that is asked.
pub(super) fn simulate(works: Vec<Work>) -> Result<Vec<Done>, CacheError> {
    let bar = ProgressBar::new(works.len() as u64 * STEPS).with_style(
        ProgressStyle::with_template("simulating {bar:40} {percent} %, {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.tick();
    let simulated = works.into_par_iter().with_max_len(1).map(|work| {
        let outcome = ran(&work.arrangement, &work, &bar)?;
        Ok(Done { work, outcome, compared: None })
    });
    let simulated = simulated.collect::<Result<Vec<Done>, CacheError>>();
    let compared = simulated.and_then(|mut done| {
        compare(&mut done, &bar)?;
        Ok(done)
    });
    bar.finish_and_clear();
    compared
}

/// What an arrangement does under what is asked of another one.
fn ran(arrangement: &Arrangement, work: &Work, bar: &ProgressBar) -> Result<TierResult, CacheError> {
    let mut told = 0;
    let mut tell = |share: f64| {
        let steps = (share * STEPS as f64) as u64;
        bar.inc(steps.saturating_sub(told));
        told = told.max(steps);
    };
    let outcome = run_with_progress(arrangement, &work.load, &mut tell)
        .map_err(|error| CacheError::Invalid(format!("{}, {}: {error}", arrangement.name, work.workload)));
    tell(1.0);
    outcome
}

/// Compares what is to be compared. Without a cache all sizes of it are the same, and are simulated once.
fn compare(done: &mut [Done], bar: &ProgressBar) -> Result<(), CacheError> {
    let mut groups: BTreeMap<(usize, String), Vec<&mut Done>> = BTreeMap::new();
    for done in done.iter_mut().filter(|done| done.work.arrangement.equal.is_some()) {
        groups.entry((done.work.file, done.work.workload.clone())).or_default().push(done);
    }
    groups.into_values().collect::<Vec<_>>().into_par_iter().with_max_len(1).try_for_each(|mut group| {
        for done in &mut group {
            let by = by(&done.work);
            done.compared = done.work.arrangement.equal.map(|equal| Compared { equal, by, count: None });
        }
        find_equal(&mut group, bar)
    })
}

fn by(work: &Work) -> By {
    match &work.load {
        TierLoad::Trace(_, settings) if settings.is_open() => By::Latency,
        _ => By::Throughput,
    }
}

/// The smallest number of devices without a cache that do as much as each of these, or where the trace tells how much is
/// done, do it as soon.
fn find_equal(group: &mut [&mut Done], bar: &ProgressBar) -> Result<(), CacheError> {
    let Some(equal) = group.first().and_then(|done| done.work.arrangement.equal) else { return Ok(()) };
    for (count, raid) in equal.counts() {
        let Some(first) = group.iter().find(|done| done.compared.as_ref().is_some_and(|one| one.count.is_none()))
        else {
            break;
        };
        let other = first.work.arrangement.without_cache(count, raid);
        // So few devices may be too small for what the arrangement holds.
        if other.validate().is_err() {
            continue;
        }
        bar.inc_length(STEPS);
        let alone = ran(&other, &first.work, bar)?;
        for Done { outcome, compared, .. } in group.iter_mut().map(|done| &mut **done) {
            if let Some(Compared { by, count: found @ None, .. }) = compared
                && by.is_as_good(&alone, outcome)
            {
                *found = Some(count);
            }
        }
    }
    Ok(())
}
