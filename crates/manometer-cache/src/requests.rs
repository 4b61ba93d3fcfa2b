//! A trace as simulations walk over it.

use std::sync::OnceLock;

use manometer_trace::{Operation, Record, TraceError, TraceReader};

use crate::curve::Sampling;
use crate::error::CacheError;
use crate::number::{Id, KEYS_MAX, Numbers};
use crate::pages::filled;
use crate::policy::Request;
use crate::sampled::Sampled;

/// The most requests that are held at once.
pub const REQUESTS_MAX: usize = 1 << 31;

/// What is held of each request beside its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Details {
    /// The bytes of the object.
    pub sizes: bool,
    /// Whether it writes.
    pub writes: bool,
    /// When it came, in traces whose first request has a time.
    pub times: bool,
}

impl Details {
    /// Nothing.
    pub const NONE: Self = Self { sizes: false, writes: false, times: false };

    /// What either of two asks for.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { sizes: self.sizes || other.sizes, writes: self.writes || other.writes, times: self.times || other.times }
    }
}

/// The requests of a trace with their keys numbered in the order in which they come: four bytes each, and what
/// [`Details`] ask for.
#[derive(Debug, Default)]
pub struct Requests {
    ids: Vec<Id>,
    keys: usize,
    sizes: Vec<u64>,
    writes: Vec<bool>,
    times_ns: Vec<u64>,
    are_timed: bool,
    left_out: LeftOut,
    damage: Option<TraceError>,
    next: OnceLock<Vec<u32>>,
}

/// Requests of the trace that no cache is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Deletes and discards.
    pub deletes: u64,
    /// Those without a size, where sizes count.
    pub without_size: u64,
    /// Those without a time, where times count.
    pub without_time: u64,
}

impl LeftOut {
    /// All of them.
    pub fn sum(&self) -> u64 {
        self.deletes + self.without_size + self.without_time
    }

    /// Takes requests out of a batch that no cache is asked for, or that do not tell what is needed, and counts them.
    pub(crate) fn take_from(&mut self, batch: &mut Vec<Record>, details: Details) {
        batch.retain(|record| {
            let is_delete = matches!(record.operation, Operation::Delete | Operation::Discard);
            let has_no_size = details.sizes && record.value_size.is_none();
            let has_no_time = details.times && record.time_ns.is_none();
            self.deletes += u64::from(is_delete);
            self.without_size += u64::from(!is_delete && has_no_size);
            self.without_time += u64::from(!is_delete && !has_no_size && has_no_time);
            !(is_delete || has_no_size || has_no_time)
        });
    }
}

/// What came of reading a trace.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// The requests that count.
    pub(crate) requests: u64,
    pub(crate) left_out: LeftOut,
    /// Why it was not read to its end.
    pub(crate) damage: Option<TraceError>,
}

/// Reads a trace to its end, or to where it is damaged, and gives all requests that a cache is asked for, batch by
/// batch, with what of them counts: times do not where the first one has none.
pub(crate) fn read(
    reader: &mut dyn TraceReader,
    mut details: Details,
    mut take: impl FnMut(&[Record], Details) -> Result<(), CacheError>,
) -> Result<Read, CacheError> {
    let (mut read, mut batch, mut has_begun) = (Read::default(), Vec::new(), false);
    loop {
        match reader.read(&mut batch) {
            Ok(0) => return Ok(read),
            Ok(_) => {}
            Err(damage) => return Ok(Read { damage: Some(damage), ..read }),
        }
        if !has_begun && batch.first().is_some_and(|record| record.time_ns.is_none()) {
            details.times = false;
        }
        has_begun = true;
        read.left_out.take_from(&mut batch, details);
        read.requests += batch.len() as u64;
        take(&batch, details)?;
    }
}

impl Requests {
    /// Reads a trace to its end, or to where it is damaged ([`Self::damage`]).
    ///
    /// # Errors
    /// It holds more requests or keys than can be held.
    pub fn read(reader: &mut dyn TraceReader, details: Details) -> Result<Self, CacheError> {
        let mut all = Sampled::new(Sampling::Whole, 0)?;
        let read = read(reader, details, |batch, details| all.take(batch, details))?;
        Ok(Self { left_out: read.left_out, damage: read.damage, ..all.end().0 })
    }

    /// Requests for keys, one after the other, without sizes.
    ///
    /// # Errors
    /// There are more than can be held.
    pub fn of_keys(keys: impl IntoIterator<Item = u64>) -> Result<Self, CacheError> {
        let mut requests = Self::default();
        let mut numbers = Numbers::default();
        let fits = numbers.number(keys.into_iter().take(REQUESTS_MAX + 1), &mut requests.ids);
        requests.keys = numbers.len();
        if !fits {
            return Err(too_many_keys());
        }
        requests.check()?;
        Ok(requests)
    }

    /// No requests yet, to come at moments of their own for keys that are numbered already, as blocks of a device are.
    pub fn of_blocks(blocks: usize) -> Self {
        Self { keys: blocks, are_timed: true, ..Self::default() }
    }

    /// The same with the bytes of each object.
    ///
    /// # Errors
    /// There are more than can be held.
    pub fn of_objects(objects: &[(u64, u64)]) -> Result<Self, CacheError> {
        let mut requests = Self::of_keys(objects.iter().map(|(key, _)| *key))?;
        requests.sizes = objects.iter().map(|(_, size)| *size).collect();
        Ok(requests)
    }

    fn check(&self) -> Result<(), CacheError> {
        let text =
            || format!("the trace has more than {REQUESTS_MAX} requests: take a sample of its keys, or a slice of it");
        if self.ids.len() > REQUESTS_MAX { Err(CacheError::Wrong(text())) } else { Ok(()) }
    }

    /// Takes in the requests of a batch that was left as it is to be.
    pub(crate) fn take_in(
        &mut self,
        batch: &[Record],
        numbers: &mut Numbers,
        details: Details,
    ) -> Result<(), CacheError> {
        if !numbers.number(batch.iter().map(|record| record.key), &mut self.ids) {
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

    /// Gives each key the number at its own, and drops the requests for keys that have none there.
    pub(crate) fn rename(&mut self, renamed: &[Option<Id>]) {
        let kept: Vec<bool> = self.ids.iter().map(|id| renamed[*id as usize].is_some()).collect();
        retain(&mut self.sizes, &kept);
        retain(&mut self.writes, &kept);
        retain(&mut self.times_ns, &kept);
        let ids = std::mem::take(&mut self.ids);
        self.ids = ids.into_iter().filter_map(|id| renamed[id as usize]).collect();
    }

    pub(crate) fn end(&mut self, numbers: &Numbers) {
        self.keys = numbers.len();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// One of them.
    #[inline]
    pub fn at(&self, position: usize) -> Request {
        Request {
            id: self.ids[position],
            position: position as u32,
            size: self.sizes.get(position).copied().unwrap_or(1),
            is_write: self.writes.get(position).copied().unwrap_or(false),
            time_ns: self.times_ns.get(position).copied().unwrap_or(0),
        }
    }

    /// How many different keys they ask for.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// The number of each one's key.
    pub fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// The bytes of each one's object; empty where sizes do not count.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Whether each one writes; empty where that does not count.
    pub fn writes(&self) -> &[bool] {
        &self.writes
    }

    /// Whether they come with their moments.
    pub fn are_timed(&self) -> bool {
        self.are_timed || !self.times_ns.is_empty()
    }

    /// When each one came; empty where times do not count.
    pub fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }

    /// What was left out.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Why the trace was not read to its end.
    pub fn damage(&self) -> Option<&TraceError> {
        self.damage.as_ref()
    }

    /// For each request when its key is requested next, as a position; where it never is, [`Self::len`] and the key's
    /// number on top, so that no two are equal.
    pub fn next(&self) -> &[u32] {
        self.next.get_or_init(|| {
            let never = self.ids.len() as u32;
            let mut next_of: Vec<u32> = (0..self.keys as u32).map(|id| never + id).collect();
            let mut next = filled(0, self.ids.len());
            for (at, id) in self.ids.iter().enumerate().rev() {
                next[at] = std::mem::replace(&mut next_of[*id as usize], at as u32);
            }
            next
        })
    }
}

/// Keeps of a detail, where it is held, what belongs to the requests kept.
fn retain<T>(detail: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    detail.retain(|_| kept.next().copied().unwrap_or(false));
}

pub(crate) fn too_many_keys() -> CacheError {
    CacheError::Wrong(format!("the trace has more than {KEYS_MAX} keys: take a sample of them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_and_know_when_they_come_next() {
        let requests = Requests::of_keys([7, 9, 7, 7, 8]).unwrap();
        assert_eq!(requests.ids(), [0, 1, 0, 0, 2]);
        assert_eq!(requests.keys(), 3);
        assert_eq!(requests.next(), [2, 5 + 1, 3, 5, 5 + 2]);
    }
}
