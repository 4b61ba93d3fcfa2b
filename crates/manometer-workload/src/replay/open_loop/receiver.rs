//! The thread that receives: counts answers, puts what reads missed, and gives up requests without an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manometer_measure::Clock;
use manometer_target::engine::open_loop::{OpenLoopAnswer, OpenLoopReply, OpenLoopRequest};
use manometer_target::engine::{EngineError, OpenLoop, value};

use super::in_flight::{AnsweredRequests, InFlight, SentRequest};
use crate::kv::request::KvOperation;
use crate::replay::client::{ClientContext, ReplayCounters, stores};
use crate::replay::request::ReplayRequest;
use crate::replay::settings::MissAction;
use crate::replay::values::ReplayValues;

/// The longest wait for answers between two looks at what is overdue and at the end.
const LOOK: Duration = Duration::from_millis(10);

/// The receiving thread.
pub(super) struct OpenLoopReceiver<'a, C> {
    context: ClientContext<'a, C>,
    counters: &'a ReplayCounters,
    connections: &'a dyn OpenLoop,
    in_flight: &'a InFlight,
    values: ReplayValues,
}

/// A read that found nothing, whose value is put.
struct Miss {
    request: ReplayRequest,
    key: Arc<[u8]>,
}

impl<'a, C: Clock> OpenLoopReceiver<'a, C> {
    pub(super) fn new(
        context: &ClientContext<'a, C>,
        counters: &'a ReplayCounters,
        connections: &'a dyn OpenLoop,
        in_flight: &'a InFlight,
    ) -> Self {
        counters.counted.allocate(&context.plan.operations);
        Self {
            context: *context,
            counters,
            connections,
            in_flight,
            values: ReplayValues::new(context.plan, context.seed, 2),
        }
    }

    /// Receives until `has_sent_all` and no request is in flight, or until `is_stopped`.
    ///
    /// # Errors
    /// The operating system refuses to wait for answers.
    pub(super) fn run(mut self, has_sent_all: &AtomicBool, is_stopped: &AtomicBool) -> Result<(), EngineError> {
        loop {
            // Read before the count of requests: the last one is counted before.
            let is_all = has_sent_all.load(Ordering::Acquire);
            let is_drained = !self.counters.is_in_flight();
            if is_stopped.load(Ordering::Acquire) || is_all && is_drained {
                self.counters.ended_ns.store(self.context.clock.now_ns(), Ordering::Relaxed);
                return Ok(());
            }
            let (mut misses, mut answered) = (Vec::new(), 0);
            self.connections.receive(LOOK, &mut |answer| answered += self.count(answer, &mut misses))?;
            misses.into_iter().for_each(|miss| self.fill(miss));
            // What is put after a miss is in flight before the miss no longer is.
            self.counters.open.fetch_sub(answered, Ordering::AcqRel);
            self.give_up();
        }
    }

    /// Counts an answer, and adds the request to `misses` if its value is to be put. Returns how many requests it is for.
    fn count(&self, answer: OpenLoopAnswer<'_>, misses: &mut Vec<Miss>) -> u64 {
        let Some(answered) = self.in_flight.answer(answer.token, answer.place, answer.is_last) else { return 0 };
        let number = answered.sent.len() as u64;
        match answer.reply {
            Ok(reply) => misses.extend(self.count_reply(answered, &reply)),
            Err(error) => {
                self.counters.fail(number);
                self.context.note_failure(|| error.to_string());
            }
        }
        number
    }

    /// Counts what was answered to `answered`. Returns the request if it missed and its value is to be put.
    fn count_reply(&self, answered: AnsweredRequests, reply: &OpenLoopReply<'_>) -> Option<Miss> {
        let AnsweredRequests { sent, due_ns, sent_ns } = answered;
        let now_ns = self.context.clock.now_ns();
        let (service_ns, response_ns) = (now_ns.saturating_sub(sent_ns), now_ns.saturating_sub(due_ns));
        let mut sent = sent.into_iter();
        let SentRequest { request, key } = sent.next()?;
        let (bytes, is_missing) = transferred(&request, &key, reply);
        let count = |operation: KvOperation, bytes| {
            let response_ns = (operation != KvOperation::Fill).then_some(response_ns);
            self.counters.counted.count(operation, service_ns, response_ns, bytes);
        };
        count(request.operation, bytes);
        // The others of a command with one answer.
        sent.for_each(|other| count(other.request.operation, 0));
        if let OpenLoopReply::Value(Some(value)) = reply
            && self.context.plan.verifies
            && value::verify(&key, value).is_err()
        {
            self.counters.fail(1);
            self.context.note_failure(|| format!("the value of key {} is not one that was put there", request.key));
        }
        if !is_missing || !matches!(request.operation, KvOperation::Read | KvOperation::ReadModifyWrite) {
            return None;
        }
        self.counters.counted.count_missing(request.operation);
        let may_fill = request.operation == KvOperation::Read && request.command_bytes == 0;
        (may_fill && self.context.plan.on_miss == MissAction::Put).then_some(Miss { request, key })
    }

    /// Puts the value that a read missed.
    fn fill(&mut self, miss: Miss) {
        let Miss { request, key } = miss;
        let now_ns = self.context.clock.now_ns();
        let request = ReplayRequest { operation: KvOperation::Fill, ..request };
        let sent = SentRequest { request, key: Arc::clone(&key) };
        let Some(token) = self.in_flight.add(vec![sent], now_ns, now_ns) else { return };
        self.counters.open.fetch_add(1, Ordering::AcqRel);
        let value = self.values.make(request.value_bytes, &key);
        let put = OpenLoopRequest::Put { key: &key, value, ttl_s: 0 };
        if let Err(error) = self.connections.send(token, &put) {
            self.in_flight.take_back(token);
            self.counters.fail(1);
            self.counters.open.fetch_sub(1, Ordering::AcqRel);
            self.context.note_failure(|| error.to_string());
        }
    }

    /// Gives up the requests that wait for longer than allowed.
    fn give_up(&self) {
        let limit_ns = self.context.plan.give_up_after_ns;
        let given_up = self.in_flight.give_up(self.context.clock.now_ns().saturating_sub(limit_ns));
        if given_up == 0 {
            return;
        }
        self.counters.fail(given_up);
        self.counters.given_up.fetch_add(given_up, Ordering::Relaxed);
        self.counters.open.fetch_sub(given_up, Ordering::AcqRel);
        let limit = Duration::from_nanos(limit_ns);
        self.context.note_failure(|| format!("no answer within {limit:?}: it was given up (`give_up_after`)"));
    }
}

/// Bytes of keys and values transferred by a request and its answer, and whether it found nothing.
fn transferred(request: &ReplayRequest, key: &[u8], reply: &OpenLoopReply<'_>) -> (usize, bool) {
    let value_bytes = if stores(request.operation) || request.operation == KvOperation::Fill {
        request.value_bytes as usize
    } else {
        0
    };
    match reply {
        OpenLoopReply::Value(found) => (key.len() + found.map_or(0, <[u8]>::len) + value_bytes, found.is_none()),
        OpenLoopReply::Done => (key.len() + value_bytes, false),
        OpenLoopReply::Command(reply) => (request.command_bytes as usize + reply.bytes, reply.is_missing),
    }
}
