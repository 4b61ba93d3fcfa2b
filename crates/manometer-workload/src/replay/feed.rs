//! The reader: decodes the trace again, ahead of the threads that send it.

use manometer_trace::{Record, TraceReader};

use super::again::Again;
use super::error::ReplayError;
use super::lane::{Dealing, Inlet, deal, flush};
use super::plan::ReplayPlan;
use super::request::{ReplayRequest, key_bytes, operation};
use super::survey::{belongs, owner, spread};
use super::wait::Times;

/// Deals the requests of `reader` to the lanes until its end, or until nobody takes them any more; an error where the
/// trace is no longer what it was when it was first read.
pub(super) fn feed(
    plan: &ReplayPlan,
    dealing: Dealing,
    mut reader: Box<dyn TraceReader>,
    mut inlets: Vec<Inlet<ReplayRequest>>,
) -> Result<(), ReplayError> {
    let mut times = Times::new(plan.factor);
    let (mut number, mut batch) = (0, Vec::new());
    let mut again = Again::new(&plan.file, plan.all_requests);
    loop {
        // What is damaged was told when the trace was read first: it ends there.
        if matches!(reader.read(&mut batch), Ok(0) | Err(_)) {
            let _ = flush(&mut inlets);
            return again.end();
        }
        for record in &batch {
            let due_ns = times.due_ns(record.time_ns);
            let lane = match dealing {
                Dealing::One | Dealing::InTurn => 0,
                Dealing::Apart(lanes) => lane_of(owner(plan.model, record), lanes),
            };
            let ready = ready(plan, record, due_ns, number);
            again.look(u64::from(ready.value_bytes), plan.value_bytes_max as u64)?;
            number += 1;
            if belongs(plan.share, plan.model, record) && deal(&mut inlets, lane, ready).is_err() {
                return Ok(());
            }
        }
    }
}

/// Which lane an owner's requests take: by other bits than those by which processes part them.
#[inline]
fn lane_of(owner: u64, lanes: u32) -> usize {
    (spread(owner) >> 32) as usize % lanes as usize
}

#[inline]
fn ready(plan: &ReplayPlan, record: &Record, due_ns: u64, number: u64) -> ReplayRequest {
    ReplayRequest {
        due_ns,
        key: record.key,
        number,
        value_bytes: plan.value_bytes(record.value_size),
        key_bytes: key_bytes(record),
        operation: operation(record.operation),
    }
}
