//! Requests that are chosen ahead.
//!
//! Choosing a record and writing its key is a long dependency chain. For several requests in a row, a processor
//! overlaps these chains, and none of the work lies between two requests to the engine.

use crate::kv::keys::{KeyBuffer, KeyForm};
use crate::kv::request::{KvOperation, KvRequest};

/// How many requests are chosen at once.
const AHEAD: u64 = 16;

/// Requests with their keys, and the position of the current one.
pub(super) struct RequestBuffer {
    slots: Vec<Slot>,
    at: usize,
    end: usize,
}

struct Slot {
    request: KvRequest,
    key: KeyBuffer,
}

impl RequestBuffer {
    /// No request yet, for keys of `form`.
    pub(super) fn new(form: KeyForm) -> Self {
        let slot = |_| Slot { request: KvRequest::of(KvOperation::Read, 0), key: KeyBuffer::new(form) };
        Self { slots: (0..AHEAD).map(slot).collect(), at: 0, end: 0 }
    }

    /// The key of the current request.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        self.slots[self.at].key.bytes()
    }

    /// Makes the key of `record` the current one, and drops requests that were chosen ahead.
    #[inline]
    pub(super) fn set_record(&mut self, record: u64) {
        self.clear();
        self.slots[0].key.of_record(record);
    }

    /// Chooses new requests, `left` at most, where all chosen ones were sent.
    #[inline]
    pub(super) fn refill(&mut self, left: u64, mut next: impl FnMut() -> KvRequest) {
        if self.at < self.end {
            return;
        }
        (self.at, self.end) = (0, left.min(AHEAD) as usize);
        for slot in &mut self.slots[..self.end] {
            slot.request = next();
            slot.key.of_record(slot.request.record);
        }
    }

    /// The current request; nothing when all were sent.
    #[inline]
    pub(super) fn request(&self) -> Option<KvRequest> {
        (self.at < self.end).then(|| self.slots[self.at].request)
    }

    /// Goes on to the next request.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Drops the chosen requests that were not sent.
    pub(super) fn clear(&mut self) {
        (self.at, self.end) = (0, 0);
    }
}
