//! The thread that sends: waits until each request is due, and hands it to its connection without waiting for an answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use manometer_measure::{Clock, Dispatch};
use manometer_target::engine::OpenLoop;
use manometer_target::engine::open_loop::OpenLoopRequest;

use super::in_flight::{IN_FLIGHT_MAX, InFlight, SentRequest};
use crate::kv::pace;
use crate::kv::request::KvOperation;
use crate::replay::client::{ClientContext, ReplayCounters, add, stores};
use crate::replay::lane::Lane;
use crate::replay::request::ReplayRequest;
use crate::replay::schedule::SendTime;
use crate::replay::scheduling::ThreadScheduling;
use crate::replay::values::ReplayValues;

/// The sending thread.
pub(super) struct OpenLoopSender<'a, C> {
    context: ClientContext<'a, C>,
    counters: &'a ReplayCounters,
    connections: &'a dyn OpenLoop,
    in_flight: &'a InFlight,
    values: ReplayValues,
    command: Vec<u8>,
    turn: u32,
}

impl<'a, C: Clock> OpenLoopSender<'a, C> {
    pub(super) fn new(
        context: &ClientContext<'a, C>,
        counters: &'a ReplayCounters,
        connections: &'a dyn OpenLoop,
        in_flight: &'a InFlight,
    ) -> Self {
        Self {
            context: *context,
            counters,
            connections,
            in_flight,
            values: ReplayValues::new(context.plan, context.seed, 1),
            command: Vec::new(),
            turn: 0,
        }
    }

    /// Sends the requests of `lane` until it ends or the gate is stopped. Returns the dispatch delays.
    pub(super) fn run(mut self, mut lane: Lane<'_, ReplayRequest>) -> Dispatch {
        pace::wake_precisely();
        let mut scheduling = ThreadScheduling::most(self.context.clock);
        let mut dispatch = Dispatch::new(self.context.plan.resolution);
        while let Some(first) = lane.next() {
            let requests = self.form(first, &mut lane);
            let Some(time) = self.wait(&first) else { break };
            self.send(&first, requests, time, &mut dispatch);
            if scheduling.watch(self.context.clock.now_ns()) {
                self.context.schedule.shrink_margin();
            }
        }
        dispatch
    }

    /// Takes the other requests of the command of `first`, and builds the keys and the value.
    fn form(&mut self, first: ReplayRequest, lane: &mut Lane<'_, ReplayRequest>) -> Vec<SentRequest> {
        let bytes = lane.bytes();
        self.command.clear();
        self.command.extend_from_slice(first.command().map_or(&[], |range| &bytes[range]));
        let mut requests = vec![SentRequest { request: first, key: bytes[first.key()].into() }];
        for _ in 0..first.joined {
            let Some(request) = lane.next() else { break };
            requests.push(SentRequest { request, key: lane.bytes()[request.key()].into() });
        }
        if stores(first.operation) && first.command_bytes == 0 {
            self.values.make(first.value_bytes, &requests[0].key);
        }
        requests
    }

    /// Waits until `request` is due and marks it as in flight. Returns `None` when the gate is stopped.
    fn wait(&mut self, request: &ReplayRequest) -> Option<SendTime> {
        let ClientContext { clock, gate, schedule, .. } = self.context;
        loop {
            let time = schedule.wait(request.due_ns, clock, gate, &mut self.turn)?;
            self.counters.begin_request();
            if gate.is_open(self.turn) {
                return Some(time);
            }
            self.counters.finish_request();
        }
    }

    /// Hands `requests`, which are due, to their connection.
    fn send(&mut self, first: &ReplayRequest, requests: Vec<SentRequest>, time: SendTime, dispatch: &mut Dispatch) {
        let number = requests.len() as u64;
        let open = self.counters.open.fetch_add(number, Ordering::AcqRel) + number;
        self.counters.open_max.fetch_max(open, Ordering::Relaxed);
        self.counters.finish_request();
        let keys: Vec<Arc<[u8]>> = requests.iter().map(|one| Arc::clone(&one.key)).collect();
        let Some(token) = self.in_flight.add(requests, time.due_ns, time.now_ns) else {
            self.counters.open.fetch_sub(number, Ordering::AcqRel);
            return self.context.note_failure(|| format!("{IN_FLIGHT_MAX} requests are in flight: no more were sent"));
        };
        (0..number).for_each(|_| dispatch.count(first.due_ns, time.now_ns - time.zero_ns));
        add(&self.counters.sent, number);
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let request = open_request(first, &keys, self.values.made(first.value_bytes), &self.command);
        if let Err(error) = self.connections.send(token, &request) {
            self.in_flight.take_back(token);
            self.counters.fail(number);
            self.counters.open.fetch_sub(number, Ordering::AcqRel);
            self.context.note_failure(|| error.to_string());
        }
    }
}

/// The request for an engine: the command that was recorded, or the operation.
fn open_request<'r>(
    request: &ReplayRequest,
    keys: &'r [&'r [u8]],
    value: &'r [u8],
    command: &'r [u8],
) -> OpenLoopRequest<'r> {
    let (key, ttl_s) = (keys[0], request.ttl_s);
    if !command.is_empty() {
        return OpenLoopRequest::Command { key, command };
    }
    match request.operation {
        KvOperation::Read if keys.len() > 1 => OpenLoopRequest::GetMany { keys },
        KvOperation::Read => OpenLoopRequest::Get { key },
        KvOperation::Delete => OpenLoopRequest::Delete { key },
        KvOperation::ReadModifyWrite => OpenLoopRequest::GetAndPut { key, value, ttl_s },
        _ => OpenLoopRequest::Put { key, value, ttl_s },
    }
}
