//! From settings to a plan.

mod db_bench;
mod parameters;

use std::f64::consts::TAU;

use manometer_target::engine;

use super::db_bench::{SineRate, find};
use super::error::KvError;
use super::pace::PacePlan;
use super::plan::{KvPlan, ResolvedSettings};
use super::rate::RateCurve;
use super::settings::KvSettings;
use super::value_lengths::ValueLengths;
use super::ycsb;

/// Resolves and checks `settings`, their timetable aside; reads nothing but the files they name.
pub(super) fn resolve(settings: &KvSettings) -> Result<KvPlan, KvError> {
    let engine = engine::find(&settings.engine)?;
    let options = settings.options.clone().unwrap_or_default();
    (engine.check_options)(&options)?;
    let ResolvedSettings { spec, threads, run_properties, notes } = resolve_family(settings)?;
    let pace = pace(settings, run_properties.target, spec.db_bench().and_then(|bench| bench.sine))?;
    let operations = settings.operations.or(spec.db_bench().and_then(|bench| bench.requests));
    let plan = KvPlan {
        engine,
        options,
        workload: [std::slice::from_ref(&settings.workload), &settings.properties_files].concat().join(" + "),
        spec,
        threads,
        pipeline: settings.pipeline,
        pace,
        pin: settings.pin,
        load: settings.load,
        operations,
        run_properties,
        notes,
    };
    plan.check()?;
    Ok(plan)
}

/// The pace that `settings` ask for; where they leave it open, that of YCSB's `target` or of mixgraph's sine.
fn pace(settings: &KvSettings, target: Option<f64>, sine: Option<SineRate>) -> Result<PacePlan, KvError> {
    let curve = match (target, sine) {
        (_, Some(sine)) => RateCurve::sine(sine.d, sine.a, TAU / sine.b, sine.c / TAU),
        (Some(target), None) => RateCurve::constant(target),
        (None, None) => return PacePlan::new(settings),
    };
    if settings.rate.is_some() || settings.think.is_some() {
        return PacePlan::new(settings);
    }
    PacePlan::open(curve, settings)
}

/// Resolves `settings` by the family of the workload.
fn resolve_family(settings: &KvSettings) -> Result<ResolvedSettings, KvError> {
    if let Some(benchmark) = find(&settings.workload) {
        return db_bench::resolve(benchmark, settings);
    }
    let bad = |name, got: u32, wanted| Err(KvError::BadSetting { name, got: got.to_string(), wanted });
    if let Some(bytes) = settings.key_size {
        return bad("key_size", bytes, "a YCSB key is `user` and a number; only db_bench's workloads have a key size");
    }
    let mut resolved = ycsb::resolve(settings)?;
    if let Some(bytes) = settings.value_size {
        if settings.field_length.is_some() {
            return bad("value_size", bytes, "field_length sets the length of a record, too: leave one out");
        }
        resolved.spec.values.lengths = ValueLengths::Constant(bytes as usize);
    }
    Ok(resolved)
}
