//! Pipelined requests: sent together, before the first answer.

use manometer_measure::Clock;
use manometer_target::engine::PipelinedRequest;

use super::{Client, verify};
use crate::kv::error::KvError;
use crate::kv::request::{KvOperation, KvRequest};

/// Requests with their keys and values, one behind the other in `bytes`.
#[derive(Debug, Default)]
pub(super) struct RequestBatch {
    bytes: Vec<u8>,
    entries: Vec<BatchEntry>,
}

/// Where a request's key and value lie.
#[derive(Debug, Clone, Copy)]
struct BatchEntry {
    request: KvRequest,
    key: usize,
    value: usize,
    end: usize,
}

impl RequestBatch {
    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    fn push(&mut self, request: KvRequest, key: &[u8], value: &[u8]) {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.entries.push(BatchEntry { request, key: at, value: at + key.len(), end: self.bytes.len() });
    }

    fn key(&self, place: usize) -> &[u8] {
        let BatchEntry { key, value, .. } = self.entries[place];
        &self.bytes[key..value]
    }

    fn pipelined(&self) -> Vec<PipelinedRequest<'_>> {
        let pipelined = |place: &BatchEntry| {
            let key = &self.bytes[place.key..place.value];
            match place.request.operation {
                KvOperation::Read => PipelinedRequest::Get { key },
                _ => PipelinedRequest::Put { key, value: &self.bytes[place.value..place.end] },
            }
        };
        self.entries.iter().map(pipelined).collect()
    }
}

impl<C: Clock> Client<'_, C> {
    /// Sends as many requests together as the pipeline is deep. Each has the latency of the batch: it was sent with the first
    /// request, and its answer is available with the last.
    pub(super) fn send_pipelined(&mut self) -> Result<(), KvError> {
        let plan = self.context.plan;
        self.fill_batch(u64::from(plan.pipeline).min(self.left));
        let batch = &self.batch;
        let mut bytes = vec![0; batch.entries.len()];
        let mut fault = None;
        let start_ns = self.context.clock.now_ns();
        self.session.pipeline(&batch.pipelined(), &mut |place, found| {
            let BatchEntry { request, key, end, .. } = batch.entries[place];
            if request.operation != KvOperation::Read {
                bytes[place] = end - key;
                return;
            }
            if found.is_none() {
                self.counters.count_missing(KvOperation::Read);
            }
            match verify(plan, request.record, batch.key(place), found) {
                Ok(found) => bytes[place] = end - key + found.len(),
                Err(error) => drop(fault.get_or_insert(error)),
            }
        })?;
        let latency_ns = self.context.clock.now_ns().saturating_sub(start_ns);
        for (place, bytes) in batch.entries.iter().zip(bytes) {
            if place.request.operation == KvOperation::Insert && plan.spec.grows() {
                self.context.population.inserted(place.request.record);
            }
            self.counters.count(place.request.operation, latency_ns, None, bytes);
        }
        self.left -= batch.entries.len() as u64;
        fault.map_or(Ok(()), Err)
    }

    fn fill_batch(&mut self, count: u64) {
        self.batch.clear();
        for _ in 0..count {
            let request = self.generator.next(&mut self.random);
            let key = self.key.of_record(request.record);
            let value = match request.operation {
                KvOperation::Read => &[],
                _ => self.values.make_for(request, key, &mut self.random),
            };
            self.batch.push(request, key, value);
        }
    }
}
