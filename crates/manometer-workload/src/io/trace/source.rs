//! The next recorded request, and when it is due.

use manometer_measure::{Dispatch, ReplayOutcome};

use super::super::request::BlockRequest;
use super::{BlockTrace, PendingRequest};
use crate::replay::lane::Lane;
use crate::replay::{ReplayModel, Timing};

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) enum SourceStep {
    /// Send this request, and when it was due on the clock; at full speed requests have no due time.
    Send(BlockRequest, Option<u64>),
    /// Send nothing before this time of the clock.
    Wait(u64),
    /// The trace is at its end.
    End,
}

/// The requests of a trace, in order.
pub(in crate::io) struct TraceSource<'a> {
    lane: Lane<'a, PendingRequest>,
    next: Option<PendingRequest>,
    is_over: bool,
    model: ReplayModel,
    factor: f64,
    /// From when on `factor` holds: in the trace's time and in the schedule's.
    since_ns: (u64, u64),
    /// When the schedule's zero is on the clock, and since when it is paused.
    zero_ns: u64,
    paused_ns: Option<u64>,
    begun: bool,
    /// How long before a request is due waiting becomes polling.
    pub(in crate::io) margin_ns: u64,
    requests: u64,
    sent: u64,
    kept: Option<Dispatch>,
}

impl<'a> TraceSource<'a> {
    pub(super) fn new(trace: &BlockTrace, lane: Lane<'a, PendingRequest>, margin_ns: u64) -> Self {
        Self {
            lane,
            next: None,
            is_over: false,
            model: trace.model,
            factor: trace.factor,
            since_ns: (0, 0),
            zero_ns: 0,
            paused_ns: None,
            begun: false,
            margin_ns,
            requests: trace.requests,
            sent: 0,
            kept: (trace.time != Timing::Full).then(|| Dispatch::new(trace.resolution)),
        }
    }

    /// Starts or resumes the trace's time.
    pub(in crate::io) fn go(&mut self, now_ns: u64) {
        if !std::mem::replace(&mut self.begun, true) {
            self.zero_ns = now_ns;
        } else if let Some(paused_ns) = self.paused_ns.take() {
            self.zero_ns += now_ns - paused_ns;
        }
    }

    /// Pauses the trace's time.
    pub(in crate::io) fn pause(&mut self, now_ns: u64) {
        if self.begun {
            self.paused_ns.get_or_insert(now_ns);
        }
    }

    /// Runs the trace `factor` times as fast as recorded from now on.
    pub(in crate::io) fn change(&mut self, factor: f64, now_ns: u64) {
        if self.factor == factor {
            return;
        }
        let schedule_ns = self.paused_ns.unwrap_or(now_ns).saturating_sub(self.zero_ns);
        let passed_ns = schedule_ns.saturating_sub(self.since_ns.1) as f64 * self.factor;
        self.since_ns = (self.since_ns.0.saturating_add(passed_ns as u64), schedule_ns);
        self.factor = factor;
    }

    /// What to do at `now_ns`.
    pub(in crate::io) fn turn(&mut self, now_ns: u64) -> SourceStep {
        if self.next.is_none() && !self.is_over {
            self.next = self.lane.next();
            self.is_over = self.next.is_none();
        }
        let Some(PendingRequest { recorded_ns, next }) = self.next else { return SourceStep::End };
        let due_ns = self.scheduled_ns(recorded_ns);
        let Some(kept) = &mut self.kept else {
            self.next = None;
            self.sent += 1;
            return SourceStep::Send(next, None);
        };
        let at_ns = self.zero_ns.saturating_add(due_ns);
        if now_ns < at_ns {
            return SourceStep::Wait(at_ns);
        }
        kept.count(due_ns, now_ns - self.zero_ns);
        self.next = None;
        self.sent += 1;
        SourceStep::Send(next, Some(at_ns))
    }

    /// Whether all requests were sent.
    pub(in crate::io) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The outcome of the replay at `now_ns`.
    pub(in crate::io) fn replayed(self, now_ns: u64) -> ReplayOutcome {
        ReplayOutcome {
            model: self.model.name().to_owned(),
            ordered: self.model.is_ordered(),
            length_ns: if self.begun { self.paused_ns.unwrap_or(now_ns).saturating_sub(self.zero_ns) } else { 0 },
            interrupted: !self.is_over,
            requests: self.requests,
            sent: self.sent,
            dispatch: self.kept,
            ..ReplayOutcome::default()
        }
    }

    fn scheduled_ns(&self, recorded_ns: u64) -> u64 {
        let (recorded_since_ns, since_ns) = self.since_ns;
        let left_ns = recorded_ns.saturating_sub(recorded_since_ns);
        let left_ns = if self.factor == 1.0 { left_ns } else { (left_ns as f64 / self.factor).round() as u64 };
        since_ns.saturating_add(left_ns)
    }
}
