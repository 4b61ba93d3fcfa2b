//! What a reader must know of a comparison of a trace with synthetic loads of it.

use manometer_measure::event::{Finding, Severity};

use super::{Difference, EngineResult, Load, Replay, TRACE};
use crate::findings::{Rule, replay::FAILED};

const KEYS_NOT_MATCHED: Rule = Rule {
    id: "keys-not-matched",
    severity: Severity::Warning,
    source: "the loads",
    meaning: "a synthetic load asks for over 1.3 % more or fewer keys than its trace",
    remedy: "Read its miss ratios as wrong for that as well as for their order.",
};

const SPEED_UP_UNSURE: Rule = Rule {
    id: "speed-up-unsure",
    severity: Severity::Info,
    source: "the replays",
    meaning: "the error of a synthetic load's speed-up by cache may be chance: its interval holds 0",
    remedy: "Repeat it more often, on a machine that does nothing else.",
};

const TOO_FEW_REPEATS: Rule = Rule {
    id: "too-few-repeats",
    severity: Severity::Info,
    source: "the replays",
    meaning: "the trace's own miss ratio is known less exactly than the nearest synthetic load is off",
    remedy: "Repeat it more often to tell them apart.",
};

/// The trace of a comparison cannot be read to its end.
pub const TRACE_DAMAGED: Rule = Rule {
    id: "trace-damaged",
    severity: Severity::Warning,
    source: "the trace",
    meaning: "the trace of a comparison is cut or damaged, and was taken to its last good record",
    remedy: "Get a whole copy of it where its end matters.",
};

/// Several of the caches of a comparison are of one size.
pub const CACHES_TOO_SMALL: Rule = Rule {
    id: "caches-too-small",
    severity: Severity::Warning,
    source: "the engine",
    meaning: "an engine that takes its memory in whole MiB makes no difference between caches of a comparison",
    remedy: "Make values larger with `value_size`, or take a trace of more keys.",
};

/// A comparison ended before its last replay.
pub const REPLAY_FAILED: Rule = Rule {
    id: "replay-failed",
    severity: Severity::Error,
    source: "the replays",
    meaning: "a replay of a comparison failed; what was measured before is told, the rest is missing",
    remedy: "Mend what it names, and run it again.",
};

/// What is told of comparisons alone.
pub(crate) const RULES: [Rule; 6] =
    [TRACE_DAMAGED, CACHES_TOO_SMALL, REPLAY_FAILED, KEYS_NOT_MATCHED, SPEED_UP_UNSURE, TOO_FEW_REPEATS];

/// Of all `replays`, and of what was computed from them.
pub fn findings(engines: &[EngineResult], loads: &[Load], replays: &[Replay]) -> Vec<Finding> {
    let of_loads = failures(replays).into_iter().chain(unmatched(loads));
    of_loads.chain(engines.iter().flat_map(|engine| unsure(engine).into_iter().chain(noisy(engine)))).collect()
}

fn failures(replays: &[Replay]) -> Option<Finding> {
    let failed: Vec<&Replay> = replays.iter().filter(|replay| replay.errors > 0).collect();
    let first = failed.first()?;
    let sentence = format!(
        "Requests failed in {} of {} replays; in the first, of {} on {}, {} of {}: {}. Failed reads are in no miss ratio.",
        failed.len(),
        replays.len(),
        first.load,
        first.engine,
        first.errors,
        first.requests,
        first.error.as_deref().unwrap_or("the engine did not say why")
    );
    Some(FAILED.tell(None, &sentence))
}

fn unmatched(loads: &[Load]) -> impl Iterator<Item = Finding> {
    let keys = loads.iter().find(|load| load.name == TRACE).map_or(0, |load| load.keys);
    let is_off = move |load: &&Load| load.keys.abs_diff(keys) as f64 > 0.013 * keys as f64;
    loads.iter().filter(|load| load.name != TRACE).filter(is_off).map(move |load| {
        let sentence = format!("The load {} asks for {} keys, the trace for {keys}.", load.name, load.keys);
        KEYS_NOT_MATCHED.tell(None, &sentence)
    })
}

fn unsure(engine: &EngineResult) -> Option<Finding> {
    let is_unsure = |one: &&Difference| one.speed_up.mean.is_some() && !one.speed_up.is_sure();
    let loads: Vec<&str> = engine.differences.iter().filter(is_unsure).map(|one| one.load.as_str()).collect();
    let sentence =
        format!("On {} errors of the speed-up cannot be told from chance ({}).", engine.engine, loads.join(", "));
    (!loads.is_empty()).then(|| SPEED_UP_UNSURE.tell(None, &sentence))
}

fn noisy(engine: &EngineResult) -> Option<Finding> {
    let (curve, nearest) = (engine.curves.first()?, engine.differences.first()?);
    let noise = curve.points.iter().filter_map(|point| Some(point.miss_ratio.ci_high? - point.miss_ratio.mean?));
    let noise = noise.max_by(f64::total_cmp).filter(|noise| *noise > nearest.rmse)?;
    let sentence = format!(
        "On {} the trace's own miss ratio is only known to {:.2} points, and {} is {:.2} points off.",
        engine.engine,
        100.0 * noise,
        nearest.load,
        100.0 * nearest.rmse
    );
    Some(TOO_FEW_REPEATS.tell(None, &sentence))
}
