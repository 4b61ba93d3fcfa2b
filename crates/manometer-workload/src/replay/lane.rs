//! Queues from the reader to the threads: batches of decoded requests through lock-free channels, and the empty batches
//! back. A batch holds the bytes of its requests' keys and commands, to which the requests refer. Nothing is allocated on
//! the way. The reader blocks when it is far enough ahead.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};

/// How far the reader runs ahead, in requests, over all lanes.
const AHEAD: usize = 1 << 16;
/// Minimum number of batches of a lane: one with the reader, one with a thread, and some in between.
const BATCHES_MIN: usize = 4;
/// Requests per batch: with few lanes, with many lanes, and where threads take turns at one lane.
const BATCH: usize = 1024;
const BATCH_OF_MANY_LANES: usize = 128;
const BATCH_SHARED: usize = 32;
/// Bytes from which on a batch is full, however few requests it has: long keys and commands stay within bounds.
const BATCH_BYTES: usize = 256 << 10;
/// The number of lanes from which on smaller batches are used.
const MANY_LANES: usize = 16;

/// How requests are dealt to threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneAssignment {
    /// One lane with one consumer.
    Single,
    /// One lane; each batch goes to the next thread that asks.
    Shared,
    /// One lane per thread; the requests of one owner all go to one thread. Holds the number of threads.
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

/// Requests, and the bytes to which they refer.
struct Batch<T> {
    requests: Vec<T>,
    bytes: Vec<u8>,
}

impl<T> Batch<T> {
    fn with_capacity(requests: usize) -> Self {
        Self { requests: Vec::with_capacity(requests), bytes: Vec::new() }
    }

    fn clear(&mut self) {
        self.requests.clear();
        self.bytes.clear();
    }
}

/// The reader's end of a lane.
pub(crate) struct LaneSender<T> {
    full: SyncSender<Batch<T>>,
    empty: Receiver<Batch<T>>,
    filling: Option<Batch<T>>,
    batch: usize,
}

/// The threads' end of a lane.
pub(crate) struct LaneReceiver<T> {
    full: Mutex<Receiver<Batch<T>>>,
    empty: SyncSender<Batch<T>>,
}

impl<T> LaneReceiver<T> {
    /// Closes the lane: the reader no longer waits for room.
    pub(crate) fn close(&self) {
        // The channel is full only if the reader can continue anyway.
        let _ = self.empty.try_send(Batch::with_capacity(0));
    }
}

/// Creates the lanes for `lane_assignment`.
pub(crate) fn lanes<T>(lane_assignment: LaneAssignment) -> (Vec<LaneSender<T>>, Vec<LaneReceiver<T>>) {
    let batch = lane_assignment.batch();
    let batches = (AHEAD / (batch * lane_assignment.lanes())).max(BATCHES_MIN);
    let lane = |_| {
        let (full, filled) = sync_channel(batches);
        // One slot more than batches: an extra batch signals that the lane is closed.
        let (emptied, empty) = sync_channel(batches + 1);
        for _ in 0..batches {
            // The channel has room for all batches.
            let _ = emptied.try_send(Batch::with_capacity(batch));
        }
        let sender = LaneSender { full, empty, filling: None, batch };
        (sender, LaneReceiver { full: Mutex::new(filled), empty: emptied })
    };
    (0..lane_assignment.lanes()).map(lane).unzip()
}

/// The error of a lane whose receiver is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disconnected;

/// Puts `request` into the lane `at` of `senders`; see [`enqueue_group`].
#[inline]
pub(crate) fn enqueue<T>(senders: &mut [LaneSender<T>], at: usize, request: T) -> Result<(), Disconnected> {
    enqueue_group(senders, at, |requests, _| requests.push(request))
}

/// Has `fill` add requests, and the bytes to which they refer, to one batch of the lane `at` of `senders`. Before it blocks
/// for room there, it flushes all other lanes, so that their threads do not wait for requests that are already decoded.
#[inline]
pub(crate) fn enqueue_group<T>(
    senders: &mut [LaneSender<T>],
    at: usize,
    fill: impl FnOnce(&mut Vec<T>, &mut Vec<u8>),
) -> Result<(), Disconnected> {
    if senders[at].filling.is_none() {
        let batch = match senders[at].empty.try_recv() {
            Ok(batch) => batch,
            Err(TryRecvError::Disconnected) => return Err(Disconnected),
            Err(TryRecvError::Empty) => {
                flush(senders)?;
                senders[at].empty.recv().map_err(|_| Disconnected)?
            }
        };
        if batch.requests.capacity() == 0 {
            return Err(Disconnected);
        }
        senders[at].filling = Some(batch);
    }
    let sender = &mut senders[at];
    let Some(filling) = &mut sender.filling else { return Ok(()) };
    fill(&mut filling.requests, &mut filling.bytes);
    let is_full = filling.requests.len() >= sender.batch || filling.bytes.len() >= BATCH_BYTES;
    if is_full { sender.send() } else { Ok(()) }
}

/// Sends all partly filled batches.
pub(crate) fn flush<T>(senders: &mut [LaneSender<T>]) -> Result<(), Disconnected> {
    senders.iter_mut().try_for_each(LaneSender::send)
}

impl<T> LaneSender<T> {
    fn send(&mut self) -> Result<(), Disconnected> {
        let Some(batch) = self.filling.take() else { return Ok(()) };
        match self.full.try_send(batch) {
            Ok(()) => Ok(()),
            // The channel has room for every batch that exists.
            Err(TrySendError::Disconnected(_) | TrySendError::Full(_)) => Err(Disconnected),
        }
    }
}

/// The requests of one thread, in order.
pub(crate) struct Lane<'a, T> {
    receiver: &'a LaneReceiver<T>,
    batch: Batch<T>,
    at: usize,
}

impl<'a, T: Copy> Lane<'a, T> {
    /// Requests of `receiver`. Several threads may share it.
    pub(crate) fn new(receiver: &'a LaneReceiver<T>) -> Self {
        Self { receiver, batch: Batch::with_capacity(0), at: 0 }
    }

    /// The next request. Blocks for the reader; returns `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<T> {
        if self.at == self.batch.requests.len() && !self.refill() {
            return None;
        }
        self.at += 1;
        Some(self.batch.requests[self.at - 1])
    }

    /// The bytes to which the requests of the current batch refer.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.batch.bytes
    }

    /// The request after the next, if it is already decoded.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.batch.requests.get(self.at)
    }

    #[cold]
    fn refill(&mut self) -> bool {
        self.at = 0;
        if self.batch.requests.capacity() > 0 {
            let mut batch = std::mem::replace(&mut self.batch, Batch::with_capacity(0));
            batch.clear();
            // A reader at the end of the trace no longer takes batches back.
            let _ = self.receiver.empty.try_send(batch);
        }
        let next = self.receiver.full.lock().unwrap_or_else(PoisonError::into_inner).recv();
        next.map(|batch| self.batch = batch).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::request::KvOperation;
    use crate::replay::request::ReplayRequest;

    fn request(number: u64) -> ReplayRequest {
        ReplayRequest { due_ns: number, number, ..ReplayRequest::of(KvOperation::Read, number) }
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
                // More than fit: the reader blocks on the first lane until it is closed.
                let all = (1..).try_for_each(|number| enqueue(&mut senders, 0, request(number)));
                assert_eq!(all, Err(Disconnected));
            });
            assert_eq!(Lane::new(&receivers[1]).next(), Some(request(0)));
            receivers[0].close();
        });
    }

    #[test]
    fn requests_of_one_command_and_their_bytes_stay_in_one_batch() {
        let (mut senders, receivers) = lanes(LaneAssignment::Shared);
        for number in 0..40_u64 {
            enqueue_group(&mut senders, 0, |requests, bytes| {
                bytes.extend_from_slice(&number.to_le_bytes());
                requests.extend([request(3 * number), request(3 * number + 1), request(3 * number + 2)]);
            })
            .unwrap();
        }
        flush(&mut senders).unwrap();
        drop(senders);
        let mut lane = Lane::new(&receivers[0]);
        for number in 0..40_u64 {
            assert_eq!(lane.next().map(|request| request.number), Some(3 * number));
            let bytes: Vec<u8> = lane.bytes().to_vec();
            assert!(bytes.chunks(8).any(|chunk| chunk == number.to_le_bytes()));
            assert!(lane.next().is_some() && lane.next().is_some());
            assert!(lane.bytes() == bytes, "no other batch");
        }
        assert_eq!(lane.next(), None);
    }

    #[test]
    fn a_batch_of_long_keys_is_full_before_its_time() {
        let (mut senders, receivers) = lanes(LaneAssignment::Single);
        let long = |requests: &mut Vec<ReplayRequest>, bytes: &mut Vec<u8>| {
            bytes.resize(BATCH_BYTES, 0);
            requests.push(request(0));
        };
        enqueue_group(&mut senders, 0, long).unwrap();
        assert_eq!(Lane::new(&receivers[0]).next(), Some(request(0)), "nobody flushed");
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
