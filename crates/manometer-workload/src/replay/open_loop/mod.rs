//! An open loop on a server: requests leave at their time however slow the server is. One thread sends, without waiting for
//! answers; another receives them. Requests without an answer within a limit of time are given up.

mod in_flight;
mod receiver;
mod sender;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{Scope, ScopedJoinHandle};

use manometer_measure::{Clock, Dispatch};
use manometer_target::engine::OpenLoop;

use self::in_flight::InFlight;
use self::receiver::OpenLoopReceiver;
use self::sender::OpenLoopSender;
use super::client::{ClientContext, ReplayCounters};
use super::error::ReplayError;
use super::lane::{Lane, LaneReceiver};
use super::request::ReplayRequest;
use super::thread_guard::ThreadGuard;

/// What a thread of a replay ends with: its dispatch delays, if it has any.
type ThreadResult = Result<Option<Dispatch>, ReplayError>;

/// The two threads of an open loop, and what they share.
pub(super) struct OpenLoopThreads<'e> {
    connections: Box<dyn OpenLoop + 'e>,
    in_flight: InFlight,
    has_sent_all: AtomicBool,
    is_stopped: AtomicBool,
}

impl<'e> OpenLoopThreads<'e> {
    /// How many they are.
    pub(super) const NUMBER: u32 = 2;

    pub(super) fn new(connections: Box<dyn OpenLoop + 'e>) -> Self {
        let (has_sent_all, is_stopped) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { connections, in_flight: InFlight::default(), has_sent_all, is_stopped }
    }

    /// Starts both.
    pub(super) fn start<'scope, C: Clock>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        context: &ClientContext<'scope, C>,
        counters: &'scope ReplayCounters,
        lane: &'scope LaneReceiver<ReplayRequest>,
        at_work: &'scope AtomicU32,
    ) -> [ScopedJoinHandle<'scope, ThreadResult>; 2] {
        let sender = OpenLoopSender::new(context, counters, &*self.connections, &self.in_flight);
        let receiver = OpenLoopReceiver::new(context, counters, &*self.connections, &self.in_flight);
        let sending = scope.spawn(move || {
            let _end = EndGuard(&self.has_sent_all);
            let _guard = ThreadGuard { at_work, own: Some(lane) };
            Ok(Some(sender.run(Lane::new(lane))))
        });
        let receiving = scope.spawn(move || {
            let _guard = ThreadGuard { at_work, own: None };
            receiver.run(&self.has_sent_all, &self.is_stopped).map(|()| None).map_err(ReplayError::from)
        });
        [sending, receiving]
    }

    /// Ends the receiving thread, whatever is still in flight.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }
}

/// Says that nothing more is sent, also after a panic.
struct EndGuard<'a>(&'a AtomicBool);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
