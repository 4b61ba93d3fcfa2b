//! What a reader must know of a comparison of a trace with synthetic loads.

use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::curves::{CurveDifference, EngineResult};
use super::load_names::TRACE;
use super::replays::{CacheReplay, ComparedLoad};
use super::zipf_fit::ZipfFits;
use crate::findings::replay::REQUESTS_FAILED;
use crate::findings::{Rule, fatal, minor, serious};

/// The largest relative difference in the number of keys that is not reported.
const KEYS_TOLERANCE: f64 = 0.013;

const KEYS_NOT_MATCHED: Rule = Rule {
    id: "keys-not-matched",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "a synthetic load requested more or fewer keys than its trace"),
    source: "the loads",
    meaning: "a synthetic load requests over 1.3 % more or fewer keys than its trace",
    remedy: "Expect its miss ratios to be wrong for that reason as well.",
};

const SPEED_UP_UNSURE: Rule = Rule {
    id: "speed-up-unsure",
    severity: Severity::Info,
    threat: minor(ThreatTarget::Result, "the error of a speed-up is not significant"),
    source: "the replays",
    meaning: "the error of a synthetic load's speed-up by cache is not significant: its interval includes 0",
    remedy: "Increase `repeats`, and run it on an idle host.",
};

const TOO_FEW_REPEATS: Rule = Rule {
    id: "too-few-repeats",
    severity: Severity::Info,
    threat: minor(ThreatTarget::Result, "there were too few repeats"),
    source: "the replays",
    meaning: "the interval of the trace's own miss ratio is wider than the error of the closest synthetic load",
    remedy: "Increase `repeats` to distinguish them.",
};

const ZIPF_FIT_POOR: Rule = Rule {
    id: "zipf-fit-poor",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Result, "the popularity of the keys is poorly described by Zipf's law"),
    source: "the trace",
    meaning: "the popularity of the keys is poorly described by Zipf's law, or too few keys have enough requests to test it",
    remedy: "Read the popularity part of the difference as that of a poor fit, and not of any Zipf load.",
};

const POPULARITY_FLAT: Rule = Rule {
    id: "popularity-flat",
    severity: Severity::Info,
    threat: None,
    source: "the trace",
    meaning: "the keys of a trace are nearly equally popular: the Zipf distribution that describes them has an exponent below 0.1",
    remedy: "Read the Zipf load as a uniform one.",
};

/// The clock of a trace counts seconds.
pub const CLOCK_OF_SECONDS: Rule = Rule {
    id: "clock-of-seconds",
    severity: Severity::Info,
    threat: minor(ThreatTarget::Result, "arrivals within a second are not known"),
    source: "the trace",
    meaning: "the times of a trace are whole seconds, so that arrivals within a second are not known",
    remedy: "Use a trace with finer times to judge bursts within a second.",
};

/// Many requests are for keys whose values change their size.
pub const SIZES_VARY: Rule = Rule {
    id: "sizes-vary",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "values change their size, and each key was given its largest"),
    source: "the trace",
    meaning: "over 1 % of the requests are for keys whose values have several sizes in the trace; each key has its largest",
    remedy: "Set `value_size`: with the largest of its sizes a key takes the more room the more popular it is.",
};

/// The trace of a comparison cannot be read to its end.
pub const TRACE_DAMAGED: Rule = Rule {
    id: "trace-damaged",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the trace is damaged"),
    source: "the trace",
    meaning: "the trace of a comparison is truncated or damaged, and was read up to its last valid record",
    remedy: "Copy the whole trace if its end matters.",
};

/// Several caches of a comparison have the same size.
pub const CACHES_TOO_SMALL: Rule = Rule {
    id: "caches-too-small",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "caches had the same size"),
    source: "the engine",
    meaning: "caches of a comparison have the same size in an engine whose memory is configured in whole MiB",
    remedy: "Increase `value_size`, or use a trace with more keys.",
};

/// A comparison ended before its last replay.
pub const REPLAY_FAILED: Rule = Rule {
    id: "replay-failed",
    severity: Severity::Error,
    threat: fatal(ThreatTarget::Result, "a replay failed"),
    source: "the replays",
    meaning: "a replay of a comparison failed; the results cover the replays before it",
    remedy: "Fix the cause, and run it again.",
};

/// The rules for comparisons with synthetic loads.
pub(crate) const RULES: &[Rule] = &[
    TRACE_DAMAGED,
    CACHES_TOO_SMALL,
    REPLAY_FAILED,
    KEYS_NOT_MATCHED,
    ZIPF_FIT_POOR,
    POPULARITY_FLAT,
    SIZES_VARY,
    CLOCK_OF_SECONDS,
    SPEED_UP_UNSURE,
    TOO_FEW_REPEATS,
];

/// The findings of all `replays`, and of what was computed from them.
pub fn findings(
    engines: &[EngineResult],
    loads: &[ComparedLoad],
    replays: &[CacheReplay],
    zipf: &ZipfFits,
) -> Vec<Finding> {
    let of_engine =
        |engine: &EngineResult| speed_up_unsure(engine).into_iter().chain(too_few_repeats(engine)).collect::<Vec<_>>();
    let of_loads = requests_failed(replays).into_iter().chain(keys_not_matched(loads)).chain(popularity(zipf));
    of_loads.chain(engines.iter().flat_map(of_engine)).collect()
}

fn requests_failed(replays: &[CacheReplay]) -> Option<Finding> {
    let failed: Vec<&CacheReplay> = replays.iter().filter(|replay| replay.errors > 0).collect();
    let first = failed.first()?;
    let sentence = format!(
        "Requests failed in {} of {} replays; in the first, of {} on {}, {} of {}: {}. Failed reads are in no miss ratio.",
        failed.len(),
        replays.len(),
        first.load,
        first.engine,
        first.errors,
        first.requests,
        first.error.as_deref().unwrap_or("the engine gave no reason")
    );
    Some(REQUESTS_FAILED.finding(None, &sentence))
}

/// Whether `load` requests another number of keys than the trace, so that its miss ratios differ for that reason as well.
pub fn has_other_keys(load: &ComparedLoad, loads: &[ComparedLoad]) -> bool {
    let keys = loads.iter().find(|load| load.name == TRACE).map_or(0, |load| load.keys);
    load.keys.abs_diff(keys) as f64 > KEYS_TOLERANCE * keys as f64
}

fn keys_not_matched(loads: &[ComparedLoad]) -> impl Iterator<Item = Finding> {
    let keys = loads.iter().find(|load| load.name == TRACE).map_or(0, |load| load.keys);
    let off = loads.iter().filter(|load| !load.one_size && has_other_keys(load, loads));
    off.map(move |load| {
        let sentence = format!("The load {} requests {} keys, the trace {keys}.", load.name, load.keys);
        KEYS_NOT_MATCHED.finding(None, &sentence)
    })
}

/// Whether Zipf's law describes the keys poorly, or so flatly that it is none.
fn popularity(zipf: &ZipfFits) -> Option<Finding> {
    if zipf.is_flat() {
        let exponent = zipf.all_keys_exponent;
        let sentence = format!("All keys are nearly equally popular: a Zipf exponent of {exponent:.2} describes them.");
        return Some(POPULARITY_FLAT.finding(None, &sentence));
    }
    let weaknesses = zipf.weaknesses();
    let sentence = format!("Zipf's law describes the popularity of the keys poorly: {}.", weaknesses.join("; "));
    (!weaknesses.is_empty()).then(|| ZIPF_FIT_POOR.finding(None, &sentence))
}

fn speed_up_unsure(engine: &EngineResult) -> Option<Finding> {
    let is_unsure =
        |difference: &&CurveDifference| difference.speed_up.mean.is_some() && !difference.speed_up.is_significant();
    let unsure = engine.differences.iter().filter(is_unsure);
    let loads: Vec<&str> = unsure.map(|difference| difference.load.as_str()).collect();
    let sentence =
        format!("On {} the error of the speed-up is not significant for {}.", engine.engine, loads.join(", "));
    (!loads.is_empty()).then(|| SPEED_UP_UNSURE.finding(None, &sentence))
}

fn too_few_repeats(engine: &EngineResult) -> Option<Finding> {
    let (curve, closest) = (engine.curves.first()?, engine.differences.first()?);
    let half_widths = curve.points.iter().filter_map(|point| Some(point.miss_ratio.ci_high? - point.miss_ratio.mean?));
    let widest = half_widths.max_by(f64::total_cmp).filter(|widest| *widest > closest.rmse)?;
    let sentence = format!(
        "On {} the trace's own miss ratio is known to ±{:.2} points, and {} is {:.2} points off.",
        engine.engine,
        100.0 * widest,
        closest.load,
        100.0 * closest.rmse
    );
    Some(TOO_FEW_REPEATS.finding(None, &sentence))
}
