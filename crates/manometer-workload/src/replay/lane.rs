//! The way from the reader to the threads: batches of decoded requests through queues without locks, and the empty
//! batches back. Nothing is allocated on the way, and the reader waits where it is far enough ahead.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Requests that the reader is ahead, all lanes together.
const AHEAD: usize = 1 << 16;
/// The fewest batches of a lane: one in the reader's hands, one in a thread's, and some between them.
const BATCHES_MIN: usize = 4;
/// Requests of a batch, where few or many threads share the work, and where they take turns at one lane.
const BATCH: usize = 1024;
const BATCH_OF_MANY_LANES: usize = 128;
const BATCH_SHARED: usize = 32;
/// From so many lanes on they are many.
const MANY_LANES: usize = 16;

/// How requests are dealt to threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneAssignment {
    /// All to one.
    Single,
    /// A batch to whoever comes for one.
    Shared,
    /// Those of one owner to one thread, among so many.
    PerOwner(u32),
}

impl LaneAssignment {
    fn lanes(self) -> usize {
        match self {
            Self::Single | Self::Shared => 1,
            Self::PerOwner(threads) => threads as usize,
        }
    }

    fn batch(self) -> usize {
        match self {
            Self::Shared => BATCH_SHARED,
            _ if self.lanes() >= MANY_LANES => BATCH_OF_MANY_LANES,
            _ => BATCH,
        }
    }
}

/// The reader's end of a lane.
pub(crate) struct LaneSender<T> {
    full: SyncSender<Vec<T>>,
    empty: Receiver<Vec<T>>,
    filling: Option<Vec<T>>,
    batch: usize,
}

/// The threads' end of a lane.
pub(crate) struct LaneReceiver<T> {
    full: Mutex<Receiver<Vec<T>>>,
    empty: SyncSender<Vec<T>>,
}

impl<T> LaneReceiver<T> {
    /// Tells the reader that nobody takes any more: it may wait for room that will not come.
    pub(crate) fn close(&self) {
        // It is full only of what lets the reader go on to the trace's end.
        let _ = self.empty.try_send(Vec::new());
    }
}

/// The lanes for `lane_assignment`.
pub(crate) fn lanes<T>(lane_assignment: LaneAssignment) -> (Vec<LaneSender<T>>, Vec<LaneReceiver<T>>) {
    let batch = lane_assignment.batch();
    let batches = (AHEAD / (batch * lane_assignment.lanes())).max(BATCHES_MIN);
    let lane = |_| {
        let (full, filled) = sync_channel(batches);
        // Room for one more: the sign that nobody takes any more.
        let (emptied, empty) = sync_channel(batches + 1);
        for _ in 0..batches {
            // There is room for all of them.
            let _ = emptied.try_send(Vec::with_capacity(batch));
        }
        let sender = LaneSender { full, empty, filling: None, batch };
        (sender, LaneReceiver { full: Mutex::new(filled), empty: emptied })
    };
    (0..lane_assignment.lanes()).map(lane).unzip()
}

/// Nobody takes requests any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disconnected;

/// Puts `request` into the lane `at` of `senders`. Before it waits for room there, all others get what is theirs: they
/// shall not wait for requests that are decoded.
#[inline]
pub(crate) fn enqueue<T>(senders: &mut [LaneSender<T>], at: usize, request: T) -> Result<(), Disconnected> {
    if senders[at].filling.is_none() {
        let batch = match senders[at].empty.try_recv() {
            Ok(batch) => batch,
            Err(TryRecvError::Disconnected) => return Err(Disconnected),
            Err(TryRecvError::Empty) => {
                flush(senders)?;
                senders[at].empty.recv().map_err(|_| Disconnected)?
            }
        };
        if batch.capacity() == 0 {
            return Err(Disconnected);
        }
        senders[at].filling = Some(batch);
    }
    let sender = &mut senders[at];
    let Some(filling) = &mut sender.filling else { return Ok(()) };
    filling.push(request);
    if filling.len() == sender.batch { sender.send() } else { Ok(()) }
}

/// Hands over all batches that are not full yet.
pub(crate) fn flush<T>(senders: &mut [LaneSender<T>]) -> Result<(), Disconnected> {
    senders.iter_mut().try_for_each(LaneSender::send)
}

impl<T> LaneSender<T> {
    fn send(&mut self) -> Result<(), Disconnected> {
        let Some(batch) = self.filling.take() else { return Ok(()) };
        match self.full.try_send(batch) {
            Ok(()) => Ok(()),
            // There are no more batches than there is room for.
            Err(TrySendError::Disconnected(_) | TrySendError::Full(_)) => Err(Disconnected),
        }
    }
}

/// A thread's requests, one after the other.
pub(crate) struct Lane<'a, T> {
    receiver: &'a LaneReceiver<T>,
    batch: Vec<T>,
    at: usize,
}

impl<'a, T: Copy> Lane<'a, T> {
    /// Requests that come out of `receiver`; several threads may take turns at it.
    pub(crate) fn new(receiver: &'a LaneReceiver<T>) -> Self {
        Self { receiver, batch: Vec::new(), at: 0 }
    }

    /// The next request; waits for the reader, and is nothing at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<T> {
        if self.at == self.batch.len() && !self.refill() {
            return None;
        }
        self.at += 1;
        Some(self.batch[self.at - 1])
    }

    /// The request after that, where it is at hand.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.batch.get(self.at)
    }

    #[cold]
    fn refill(&mut self) -> bool {
        self.at = 0;
        if self.batch.capacity() > 0 {
            let mut batch = std::mem::take(&mut self.batch);
            batch.clear();
            // A reader that has come to the trace's end takes none back.
            let _ = self.receiver.empty.try_send(batch);
        }
        let next = self.receiver.full.lock().unwrap_or_else(PoisonError::into_inner).recv();
        next.map(|batch| self.batch = batch).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::request::Operation;
    use crate::replay::request::ReplayRequest;

    fn request(number: u64) -> ReplayRequest {
        ReplayRequest { due_ns: number, key: number, number, value_bytes: 0, key_bytes: 11, operation: Operation::Read }
    }

    #[test]
    fn requests_come_out_in_order_and_the_reader_waits_for_room() {
        let (mut senders, receivers) = lanes(LaneAssignment::Single);
        let many = 4 * AHEAD as u64;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                (0..many).for_each(|number| enqueue(&mut senders, 0, request(number)).unwrap());
                flush(&mut senders).unwrap();
            });
            let mut lane = Lane::new(&receivers[0]);
            for number in 0..many {
                assert_eq!(lane.next().map(|request| request.number), Some(number));
            }
            assert_eq!(lane.next(), None);
        });
    }

    #[test]
    fn a_lane_gets_its_few_requests_before_the_reader_waits_for_another() {
        let (mut senders, receivers) = lanes(LaneAssignment::PerOwner(2));
        enqueue(&mut senders, 1, request(0)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // More than there is room for: the reader waits for the first lane until that is closed.
                let all = (1..).try_for_each(|number| enqueue(&mut senders, 0, request(number)));
                assert_eq!(all, Err(Disconnected));
            });
            assert_eq!(Lane::new(&receivers[1]).next(), Some(request(0)));
            receivers[0].close();
        });
    }

    #[test]
    fn threads_that_take_turns_get_every_request_once() {
        let (mut senders, receivers) = lanes(LaneAssignment::Shared);
        let (mut one, mut other) = (Lane::new(&receivers[0]), Lane::new(&receivers[0]));
        (0..100).for_each(|number| enqueue(&mut senders, 0, request(number)).unwrap());
        flush(&mut senders).unwrap();
        drop(senders);
        let mut numbers: Vec<u64> = std::iter::from_fn(|| one.next().map(|request| request.number)).take(40).collect();
        numbers.extend(std::iter::from_fn(|| other.next().map(|request| request.number)));
        numbers.extend(std::iter::from_fn(|| one.next().map(|request| request.number)));
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    }
}
