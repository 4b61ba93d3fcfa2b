//! The reader: decodes the trace a second time, ahead of the threads that send its requests.

use manometer_trace::{Record, TraceReader};

use super::error::ReplayError;
use super::lane::{LaneAssignment, LaneSender, enqueue, flush};
use super::plan::ReplayPlan;
use super::request::{ReplayRequest, key_bytes, operation};
use super::schedule::DueTimes;
use super::second_pass::SecondPass;
use super::survey::{hash_id, is_in_share, ordering_id};

/// Distributes the requests of `reader` to the lanes until the trace ends or the lanes are closed.
///
/// # Errors
/// The trace differs from the one that was surveyed.
pub(super) fn read_ahead(
    plan: &ReplayPlan,
    lane_assignment: LaneAssignment,
    mut reader: Box<dyn TraceReader>,
    mut senders: Vec<LaneSender<ReplayRequest>>,
) -> Result<(), ReplayError> {
    let mut times = DueTimes::new(plan.factor);
    let (mut number, mut batch) = (0, Vec::new());
    let mut second_pass = SecondPass::new(&plan.file, plan.all_requests);
    loop {
        // A damaged trace ends here; the first reading reported the damage.
        if matches!(reader.read(&mut batch), Ok(0) | Err(_)) {
            let _ = flush(&mut senders);
            return second_pass.end();
        }
        for record in &batch {
            let due_ns = times.due_ns(record.time_ns);
            let lane = match lane_assignment {
                LaneAssignment::Single | LaneAssignment::Shared => 0,
                LaneAssignment::PerOwner(lanes) => lane_of(ordering_id(plan.model, record), lanes),
            };
            let request = request(plan, record, due_ns, number);
            second_pass.check(u64::from(request.value_bytes), plan.value_bytes_max as u64)?;
            number += 1;
            if is_in_share(plan.share, plan.model, record) && enqueue(&mut senders, lane, request).is_err() {
                return Ok(());
            }
        }
    }
}

/// The lane of an owner's requests. Uses other bits than [`is_in_share`](super::survey::is_in_share), so that each
/// share uses all lanes.
#[inline]
fn lane_of(ordering_id: u64, lanes: u32) -> usize {
    (hash_id(ordering_id) >> 32) as usize % lanes as usize
}

#[inline]
fn request(plan: &ReplayPlan, record: &Record, due_ns: u64, number: u64) -> ReplayRequest {
    ReplayRequest {
        due_ns,
        key: record.key,
        number,
        value_bytes: plan.value_bytes(record.value_size),
        key_bytes: key_bytes(record),
        operation: operation(record.operation),
    }
}
