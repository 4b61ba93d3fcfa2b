//! Headroom: the rate of the same requests by the same threads on an engine that answers at once. Near that rate a run
//! measures the client and not the engine.
//!
//! In an open loop arrivals are part of the client's work: it is offered more than it can send. Think time is left out,
//! because it is no limit of the client.

use std::path::Path;

use manometer_measure::Clock;
use manometer_measure::operation::is_background;
use manometer_target::engine::{self, EngineOptions, OpenRequest, StorageKind};

use super::error::KvError;
use super::pace::{Arrivals, OpenLoop, PacePlan, RATE_MAX};
use super::plan::{KvPlan, Presence};
use super::plan_history::PlanHistory;
use super::rate::RateCurve;
use super::sampler::Sampler;
use super::threads::run_threads;

/// The best of several intervals counts, because workloads that prepare at the same time only slow the client down.
const STRETCHES: u32 = 4;
const STRETCH_NS: u64 = 250_000_000;

/// The most requests per second that `plan` reaches on the engine without storage; `None` if that is the plan's own
/// engine, or if it cannot be measured.
pub(super) fn headroom(plan: &KvPlan, seed: u64, clock: &impl Clock) -> Option<f64> {
    if plan.engine.storage == StorageKind::Nothing {
        return None;
    }
    let measured = measure(plan, seed, clock);
    measured.map_err(|error| tracing::warn!("the headroom could not be measured: {error}")).ok()
}

/// Requests per second that the threads of `plan` reach on the engine without storage.
pub(super) fn measure(plan: &KvPlan, seed: u64, clock: &impl Clock) -> Result<f64, KvError> {
    let null = engine::find("null")?;
    let mut plan = KvPlan {
        engine: null,
        options: EngineOptions::default(),
        pace: fastest(&plan.pace),
        operations: None,
        ..plan.clone()
    };
    // It finds every record, also those that do not exist.
    if plan.spec.expect == Presence::Absent {
        plan.spec.expect = Presence::Maybe;
    }
    let request = OpenRequest { directory: Path::new(""), options: &plan.options, value_bytes: plan.value_bytes() };
    let engine = (null.open)(&request)?;
    let operations = plan.spec.operations();
    let plans = PlanHistory::new(plan);
    run_threads(&plans, seed, Arrivals::default(), &*engine, clock, |threads| {
        let mut sampler = Sampler::new(&operations, threads.counters);
        let mut last_ns = clock.now_ns();
        threads.arrivals.resume(last_ns);
        threads.gate.open();
        let mut best: f64 = 0.0;
        for _ in 0..STRETCHES {
            clock.sleep(STRETCH_NS);
            let (now_ns, counts) = (clock.now_ns(), sampler.take());
            let foreground = counts.iter().filter(|(name, _)| !is_background(name));
            let requests: u64 = foreground.map(|(_, operation)| operation.requests).sum();
            best = best.max(requests as f64 * 1e9 / (now_ns - last_ns).max(1) as f64);
            last_ns = now_ns;
        }
        Ok(best)
    })
}

/// The fastest pace of the kind of `pace`.
fn fastest(pace: &PacePlan) -> PacePlan {
    match pace {
        PacePlan::Open(open) => PacePlan::Open(OpenLoop { curve: RateCurve::constant(RATE_MAX), ..open.clone() }),
        PacePlan::Closed | PacePlan::Think(_) => PacePlan::Closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::settings::ArrivalKind;

    #[test]
    fn an_open_loop_stays_open_at_the_highest_rate() {
        let open = |curve| PacePlan::Open(OpenLoop { curve, arrivals: ArrivalKind::Poisson, queue: 7 });
        assert_eq!(fastest(&open(RateCurve::constant(10.0))), open(RateCurve::constant(RATE_MAX)));
        assert_eq!(fastest(&PacePlan::Think(5)), PacePlan::Closed);
    }
}
