//! Valid combinations of model and timing: Table 4.2 of the KV-replay thesis, extended by the unordered model.

use super::error::ReplayError;
use super::settings::{ReplayModel, ReplaySettings, Timing};

/// The range of the speed factor. Beyond it a span of hours is shorter than one request, or longer than a life.
const FACTORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;
/// The largest number of threads.
const THREADS_MAX: u32 = 1024;
/// How long to wait for an answer unless told otherwise, in nanoseconds: as long as a session waits for its own.
pub(super) const GIVE_UP_AFTER_NS: u64 = 30_000_000_000;
/// Default number of threads of an open or unordered replay: the most requests in flight.
const THREADS_USUAL: u32 = 16;

/// Why `model` cannot be combined with `time`, if it cannot.
fn conflict(model: ReplayModel, time: Timing) -> Option<&'static str> {
    match (model, time) {
        (ReplayModel::Open, Timing::Full) => Some(
            "an open-loop replay does not wait for earlier requests, so at full speed it would \
             send all of them at once: write `original` or `scaled`, or choose `closed-conservative` or \
             `closed-unordered`",
        ),
        (ReplayModel::ClosedPerClient, Timing::Full) => Some(
            "without times the order of requests of different clients is undefined: write `original` or \
             `scaled`, or choose `closed-conservative` or `closed-unordered`",
        ),
        (ReplayModel::ClosedUnordered, Timing::Original | Timing::Scaled) => Some(
            "an unordered replay ignores times: each thread sends when its last request completes. Write `full`, or \
             choose another model",
        ),
        _ => None,
    }
}

/// Checks the combination of model, timing, factor and threads.
pub(super) fn check(settings: &ReplaySettings) -> Result<(), ReplayError> {
    let bad = |name, got: String, wanted: &str| Err(ReplayError::bad(name, got, wanted));
    check_times(settings.model, settings.time, settings.factor)?;
    if let Some(spread) = settings.spread.filter(|_| settings.time == Timing::Full) {
        let wanted = "at full speed requests have no times to spread: write `original` or `scaled`, or leave it out";
        return bad("spread", format!("{spread:?} with `time = full`").to_lowercase(), wanted);
    }
    match settings.threads {
        Some(threads) if threads == 0 || threads > THREADS_MAX => {
            bad("threads", threads.to_string(), "write a number from 1 to 1024")
        }
        Some(threads) if threads > 1 && settings.model == ReplayModel::ClosedConservative => {
            let wanted = "in the model closed-conservative each request waits for all before it, which requires exactly \
                          one thread: write 1, or choose another model";
            bad("threads", threads.to_string(), wanted)
        }
        _ => check_share(settings),
    }
}

/// Checks the combination of model, timing and factor.
pub(crate) fn check_times(model: ReplayModel, time: Timing, factor: Option<f64>) -> Result<(), ReplayError> {
    let bad = |name, got: String, wanted: &str| Err(ReplayError::bad(name, got, wanted));
    if let Some(why) = conflict(model, time) {
        return bad("time", format!("{} with the model {}", time.name(), model.name()), why);
    }
    match (time, factor) {
        (Timing::Scaled, None) => {
            bad("factor", "nothing".to_owned(), "`scaled` needs one: 2 halves the span, 0.5 doubles it")
        }
        (Timing::Scaled, Some(factor)) if !FACTORS.contains(&factor) => {
            bad("factor", factor.to_string(), "write a number from 0.000001 to 1000000")
        }
        (Timing::Full | Timing::Original, Some(factor)) => {
            bad("factor", factor.to_string(), "only `scaled` time has a factor: write `time = scaled`, or leave it out")
        }
        _ => Ok(()),
    }
}

fn check_share(settings: &ReplaySettings) -> Result<(), ReplayError> {
    let Some(share) = settings.share else { return Ok(()) };
    let got = || format!("part {} of {}", share.part, share.of);
    if share.of == 0 || share.part >= share.of || share.of > THREADS_MAX {
        return Err(ReplayError::bad("share", got(), "parts count from 0, and there are at most 1024"));
    }
    if share.of > 1 && settings.model == ReplayModel::ClosedConservative {
        let wanted = "in the model closed-conservative each request waits for all before it, which requires exactly one \
                      process: write one, or choose another model";
        return Err(ReplayError::bad("processes", share.of.to_string(), wanted));
    }
    Ok(())
}

/// The number of threads for `settings`; `at_once` is whether the engine answers without waiting.
pub(super) fn threads(settings: &ReplaySettings, at_once: bool) -> u32 {
    let usual = match settings.model {
        ReplayModel::ClosedConservative => 1,
        // A second thread would only compete with the first for the processor.
        _ if at_once => 1,
        _ => THREADS_USUAL,
    };
    settings.threads.unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::ClientShare;

    #[test]
    fn models_and_timings_go_together_as_in_the_table() {
        let allowed = |model: ReplayModel| {
            let goes = |time: &Timing| conflict(model, *time).is_none();
            [Timing::Full, Timing::Original, Timing::Scaled]
                .into_iter()
                .filter(goes)
                .map(Timing::name)
                .collect::<Vec<_>>()
        };
        assert_eq!(allowed(ReplayModel::Open), ["original", "scaled"]);
        assert_eq!(allowed(ReplayModel::ClosedConservative), ["full", "original", "scaled"]);
        assert_eq!(allowed(ReplayModel::ClosedPerClient), ["original", "scaled"]);
        assert_eq!(allowed(ReplayModel::ClosedUnordered), ["full"]);
    }

    #[test]
    fn what_does_not_go_together_is_explained() {
        let text = |settings: ReplaySettings| check(&settings).unwrap_err().to_string();
        let settings = ReplaySettings::default();
        assert!(text(ReplaySettings { time: Timing::Full, ..settings.clone() }).contains("all of them at once"));
        let scaled = ReplaySettings { time: Timing::Scaled, ..settings.clone() };
        assert!(text(scaled.clone()).contains("2 halves the span"));
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(text(ReplaySettings { factor: Some(factor), ..scaled.clone() }).contains("0.000001"), "{factor}");
        }
        assert!(text(ReplaySettings { factor: Some(2.0), ..settings.clone() }).contains("only `scaled`"));
        let conservative = ReplaySettings { model: ReplayModel::ClosedConservative, ..settings.clone() };
        assert!(
            text(ReplaySettings { threads: Some(2), ..conservative.clone() }).contains("requires exactly one thread")
        );
        assert!(text(ReplaySettings { threads: Some(0), ..settings }).contains("from 1 to 1024"));
        let share = Some(ClientShare { part: 0, of: 2 });
        assert!(text(ReplaySettings { share, ..conservative }).contains("requires exactly one process"));
    }

    #[test]
    fn threads_are_as_many_as_the_model_can_use() {
        let of = |model, at_once| threads(&ReplaySettings { model, ..ReplaySettings::default() }, at_once);
        assert_eq!((of(ReplayModel::Open, false), of(ReplayModel::Open, true)), (16, 1));
        assert_eq!(of(ReplayModel::ClosedConservative, false), 1);
    }
}
