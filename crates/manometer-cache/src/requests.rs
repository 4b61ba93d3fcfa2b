//! The requests of a trace, as simulations use them.

use std::sync::OnceLock;

use manometer_trace::{Record, TraceError, TraceReader};

use crate::error::CacheError;
use crate::huge_pages::filled_table;
use crate::key_id::{KEYS_MAX, KeyId, KeyIdTable};
use crate::request::{CacheRequest, RequestFields};
use crate::trace_scan::{ExcludedRequests, scan_trace};

/// The largest number of requests.
pub const REQUESTS_MAX: usize = 1 << 31;

/// The requests of a trace with dense key IDs in order of appearance: four bytes per request, and the fields named by
/// [`RequestFields`].
#[derive(Debug, Default)]
pub struct RequestSequence {
    ids: Vec<KeyId>,
    keys: usize,
    sizes: Vec<u64>,
    writes: Vec<bool>,
    times_ns: Vec<u64>,
    are_timed: bool,
    excluded: ExcludedRequests,
    damage: Option<TraceError>,
    next: OnceLock<Vec<u32>>,
}

impl RequestSequence {
    /// Reads a trace to its end or to its damage ([`Self::damage`]).
    ///
    /// # Errors
    /// It has too many requests or keys.
    pub fn read(reader: &mut dyn TraceReader, details: RequestFields) -> Result<Self, CacheError> {
        Self::read_into(reader, details, &mut KeyIdTable::default())
    }

    /// Reads a trace as [`Self::read`] does. Returns the key of each ID too.
    ///
    /// # Errors
    /// It has too many requests or keys.
    pub fn read_with_keys(
        reader: &mut dyn TraceReader,
        details: RequestFields,
    ) -> Result<(Self, Vec<u64>), CacheError> {
        let mut key_ids = KeyIdTable::default();
        let requests = Self::read_into(reader, details, &mut key_ids)?;
        Ok((requests, key_ids.keys()))
    }

    fn read_into(
        reader: &mut dyn TraceReader,
        details: RequestFields,
        key_ids: &mut KeyIdTable,
    ) -> Result<Self, CacheError> {
        let mut requests = Self::default();
        let scan = scan_trace(reader, details, |batch, details| requests.append(batch, key_ids, details))?;
        requests.finish(key_ids);
        Ok(Self { excluded: scan.excluded, damage: scan.damage, ..requests })
    }

    /// Requests for keys, in order, without sizes.
    ///
    /// # Errors
    /// There are too many.
    pub fn from_keys(keys: impl IntoIterator<Item = u64>) -> Result<Self, CacheError> {
        let mut requests = Self::default();
        let mut key_ids = KeyIdTable::default();
        let fits = key_ids.assign(keys.into_iter().take(REQUESTS_MAX + 1), &mut requests.ids);
        requests.keys = key_ids.len();
        if !fits {
            return Err(too_many_keys());
        }
        requests.check()?;
        Ok(requests)
    }

    /// No requests yet; they will have times, and IDs given as block numbers.
    pub fn for_blocks(blocks: usize) -> Self {
        Self { keys: blocks, are_timed: true, ..Self::default() }
    }

    /// Requests for keys with sizes.
    ///
    /// # Errors
    /// There are too many.
    pub fn from_objects(objects: &[(u64, u64)]) -> Result<Self, CacheError> {
        let mut requests = Self::from_keys(objects.iter().map(|(key, _)| *key))?;
        requests.sizes = objects.iter().map(|(_, size)| *size).collect();
        Ok(requests)
    }

    fn check(&self) -> Result<(), CacheError> {
        let text =
            || format!("the trace has more than {REQUESTS_MAX} requests: take a sample of its keys, or a slice of it");
        if self.ids.len() > REQUESTS_MAX { Err(CacheError::Invalid(text())) } else { Ok(()) }
    }

    /// Adds the requests of a filtered batch.
    pub(crate) fn append(
        &mut self,
        batch: &[Record],
        key_ids: &mut KeyIdTable,
        details: RequestFields,
    ) -> Result<(), CacheError> {
        if !key_ids.assign(batch.iter().map(|record| record.key), &mut self.ids) {
            return Err(too_many_keys());
        }
        self.check()?;
        if details.sizes {
            self.sizes.extend(batch.iter().filter_map(|record| record.value_size));
        }
        if details.writes {
            self.writes.extend(batch.iter().map(|record| record.operation.stores()));
        }
        if details.times {
            self.times_ns.extend(batch.iter().filter_map(|record| record.time_ns));
        }
        Ok(())
    }

    /// Maps each key's ID to the one in `renamed`, and drops the requests for keys without one.
    pub(crate) fn remap_keys(&mut self, renamed: &[Option<KeyId>]) {
        let kept: Vec<bool> = self.ids.iter().map(|id| renamed[*id as usize].is_some()).collect();
        retain(&mut self.sizes, &kept);
        retain(&mut self.writes, &kept);
        retain(&mut self.times_ns, &kept);
        let ids = std::mem::take(&mut self.ids);
        self.ids = ids.into_iter().filter_map(|id| renamed[id as usize]).collect();
    }

    /// The requests for some of the keys, which are numbered anew.
    pub(crate) fn of_keys(&self, is_kept: impl Fn(KeyId) -> bool) -> Self {
        let mut keys = 0;
        let mut number = || {
            keys += 1;
            keys - 1
        };
        let renamed: Vec<Option<KeyId>> = (0..self.keys as KeyId).map(|id| is_kept(id).then(&mut number)).collect();
        let mut part = Self {
            ids: self.ids.clone(),
            sizes: self.sizes.clone(),
            writes: self.writes.clone(),
            times_ns: self.times_ns.clone(),
            are_timed: self.are_timed,
            ..Self::default()
        };
        part.remap_keys(&renamed);
        part.keys = keys as usize;
        part
    }

    pub(crate) fn finish(&mut self, key_ids: &KeyIdTable) {
        self.keys = key_ids.len();
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no requests.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The request at `position`.
    #[inline]
    pub fn at(&self, position: usize) -> CacheRequest {
        CacheRequest {
            id: self.ids[position],
            position: position as u32,
            size: self.sizes.get(position).copied().unwrap_or(1),
            is_write: self.writes.get(position).copied().unwrap_or(false),
            is_whole: true,
            time_ns: self.times_ns.get(position).copied().unwrap_or(0),
        }
    }

    /// The number of different keys.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// The key ID of each request.
    pub fn ids(&self) -> &[KeyId] {
        &self.ids
    }

    /// The object size of each request; empty without sizes.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Whether each request writes; empty if not recorded.
    pub fn writes(&self) -> &[bool] {
        &self.writes
    }

    /// Whether requests have times.
    pub fn are_timed(&self) -> bool {
        self.are_timed || !self.times_ns.is_empty()
    }

    /// The time of each request; empty if not recorded.
    pub fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }

    /// The excluded requests.
    pub fn excluded(&self) -> ExcludedRequests {
        self.excluded
    }

    /// The damage that ended the trace, if any.
    pub fn damage(&self) -> Option<&TraceError> {
        self.damage.as_ref()
    }

    /// For each request the position of the next request for its key. If there is none, [`Self::len`] plus the key ID,
    /// so that all values are unique.
    pub fn next_uses(&self) -> &[u32] {
        self.next.get_or_init(|| {
            let never = self.ids.len() as u32;
            let mut next_of: Vec<u32> = (0..self.keys as u32).map(|id| never + id).collect();
            let mut next = filled_table(0, self.ids.len());
            for (at, id) in self.ids.iter().enumerate().rev() {
                next[at] = std::mem::replace(&mut next_of[*id as usize], at as u32);
            }
            next
        })
    }
}

/// Keeps the entries of an optional field that belong to kept requests.
fn retain<T>(detail: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    detail.retain(|_| kept.next().copied().unwrap_or(false));
}

pub(crate) fn too_many_keys() -> CacheError {
    CacheError::Invalid(format!("the trace has more than {KEYS_MAX} keys: take a sample of them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_and_know_when_they_come_next() {
        let requests = RequestSequence::from_keys([7, 9, 7, 7, 8]).unwrap();
        assert_eq!(requests.ids(), [0, 1, 0, 0, 2]);
        assert_eq!(requests.keys(), 3);
        assert_eq!(requests.next_uses(), [2, 5 + 1, 3, 5, 5 + 2]);
    }
}
