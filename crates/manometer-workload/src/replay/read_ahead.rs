//! The reader: decodes the trace a second time, ahead of the threads that send its requests.

use std::ops::Range;

use manometer_trace::{Record, RequestDetails, TraceOperation, TraceReader};

use super::error::ReplayError;
use super::lane::{LaneAssignment, LaneSender, enqueue_group, flush};
use super::plan::ReplayPlan;
use super::request::{KeyForm, ReplayRequest, operation};
use super::second_pass::SecondPass;
use super::survey::{hash_id, is_in_share, is_read, ordering_id};

/// Distributes the requests of `reader` to the lanes until the trace ends or the lanes are closed. Equal seeds spread
/// requests equally.
///
/// # Errors
/// The trace differs from the one that was surveyed.
pub(super) fn read_ahead(
    plan: &ReplayPlan,
    seed: u64,
    mut reader: Box<dyn TraceReader>,
    mut senders: Vec<LaneSender<ReplayRequest>>,
) -> Result<(), ReplayError> {
    let mut times = plan.times(seed);
    let (mut number, mut batch) = (0, Vec::new());
    let mut second_pass = SecondPass::new(&plan.file, plan.all_requests);
    loop {
        // A damaged trace ends here; the first reading reported the damage.
        if matches!(reader.read(&mut batch), Ok(0) | Err(_)) {
            let _ = flush(&mut senders);
            return second_pass.end();
        }
        let details = |at: usize| reader.details().map(|details| details.of(at)).unwrap_or_default();
        let mut begin = 0;
        while begin < batch.len() {
            let end = (begin + 1..batch.len()).find(|at| !details(*at).is_joined).unwrap_or(batch.len());
            let command = RecordedCommand {
                plan,
                batch: &batch,
                places: begin..end,
                due_ns: times.due_ns(batch[begin].time_ns),
                number,
            };
            for record in &batch[begin..end] {
                second_pass.check(u64::from(plan.value_bytes(record.value_size)), plan.value_bytes_max as u64)?;
            }
            (number, begin) = (number + command.places.len() as u64, end);
            if command.is_in_share() && command.enqueue(&mut senders, &details).is_err() {
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

/// The requests of one command: mostly one.
struct RecordedCommand<'a> {
    plan: &'a ReplayPlan,
    batch: &'a [Record],
    /// Their places in the batch.
    places: Range<usize>,
    due_ns: u64,
    /// The position of the first in the trace.
    number: u64,
}

impl RecordedCommand<'_> {
    fn first(&self) -> &Record {
        &self.batch[self.places.start]
    }

    /// Whether it belongs to the replayed share: where its first request does.
    #[inline]
    fn is_in_share(&self) -> bool {
        is_in_share(self.plan.share, self.plan.model, self.first())
    }

    /// Puts its requests into the lane of the first.
    #[inline]
    fn enqueue<'d>(
        &self,
        senders: &mut [LaneSender<ReplayRequest>],
        details: &impl Fn(usize) -> RequestDetails<'d>,
    ) -> Result<(), super::lane::Disconnected> {
        let lane = match self.plan.lane_assignment() {
            LaneAssignment::Single | LaneAssignment::Shared => 0,
            LaneAssignment::PerOwner(lanes) => lane_of(ordering_id(self.plan.model, self.first()), lanes),
        };
        let keys = self.places.len();
        let by_command = details(self.places.start).command.is_some() && self.plan.sends_command(self.first(), keys);
        let stays_together = by_command || self.batch[self.places.clone()].iter().all(|one| is_read(one.operation));
        let joined = if stays_together { keys as u32 - 1 } else { 0 };
        enqueue_group(senders, lane, |requests, bytes| {
            for (offset, at) in self.places.clone().enumerate() {
                let mut request = self.request(&self.batch[at], &details(at), by_command, bytes);
                request.number = self.number + offset as u64;
                request.joined = if offset == 0 { joined } else { 0 };
                requests.push(request);
            }
        })
    }

    /// The request of `record`, whose bytes are appended to `bytes`.
    #[inline]
    fn request(
        &self,
        record: &Record,
        details: &RequestDetails<'_>,
        by_command: bool,
        bytes: &mut Vec<u8>,
    ) -> ReplayRequest {
        let mut request = ReplayRequest {
            due_ns: self.due_ns,
            value_bytes: self.plan.value_bytes(record.value_size),
            ttl_s: self.plan.ttl_s(record),
            bytes_at: bytes.len() as u32,
            ..ReplayRequest::of(operation(record.operation), record.key)
        };
        let form = KeyForm::of(record, details);
        form.write(bytes);
        let mut written = bytes.len();
        request.key_bytes = written as u32 - request.bytes_at;
        if record.operation == TraceOperation::Scan {
            (request.scan_length, request.is_backward) = (details.scan_length.unwrap_or(1), details.is_backward);
            details.scan_end.iter().for_each(|end| form.write_other(end, bytes));
            request.bound_bytes = (bytes.len() - written) as u32;
            written = bytes.len();
        }
        if let Some(command) = details.command.filter(|_| by_command) {
            bytes.extend_from_slice(command);
            request.command_bytes = (bytes.len() - written) as u32;
        }
        request
    }
}
