//! The requests that a host sends to its devices, as their block layer sees them: numbers, bytes, sizes and distances.
//!
//! After Figures 6.6 and 6.7 of the cache thesis. Sizes and distances are counted by powers of two.

use super::io::IoRequest;

/// Powers of two that a number of bytes can have.
const CLASSES: usize = u64::BITS as usize;

/// The requests of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRequests {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests that start where the one before ended.
    pub sequential: u64,
    /// Requests that start where the one before started.
    pub in_place: u64,
    last: Option<(u64, u64)>,
    sizes: [u64; CLASSES],
    distances: [u64; CLASSES],
}

/// The number of requests from a power of two up to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerOfTwoCount {
    /// The power of two, in bytes.
    pub bytes: u64,
    /// The number of requests.
    pub requests: u64,
}

impl Default for BlockRequests {
    fn default() -> Self {
        Self {
            reads: 0,
            writes: 0,
            read_bytes: 0,
            written_bytes: 0,
            sequential: 0,
            in_place: 0,
            last: None,
            sizes: [0; CLASSES],
            distances: [0; CLASSES],
        }
    }
}

impl BlockRequests {
    /// Counts a request.
    pub(super) fn add(&mut self, request: &IoRequest) {
        let IoRequest { offset, bytes, is_write, .. } = *request;
        let (requests, moved) = match is_write {
            false => (&mut self.reads, &mut self.read_bytes),
            true => (&mut self.writes, &mut self.written_bytes),
        };
        *requests += 1;
        *moved += bytes;
        if let Some(class) = bytes.checked_ilog2() {
            self.sizes[class as usize] += 1;
        }
        if let Some((start, end)) = self.last.replace((offset, offset.saturating_add(bytes))) {
            self.sequential += u64::from(offset == end);
            match offset.abs_diff(start).checked_ilog2() {
                Some(class) => self.distances[class as usize] += 1,
                None => self.in_place += 1,
            }
        }
    }

    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// The requests by size.
    pub fn sizes(&self) -> Vec<PowerOfTwoCount> {
        counted(&self.sizes)
    }

    /// The requests by the distance of their start from that of the request before, where it is not the same.
    pub fn distances(&self) -> Vec<PowerOfTwoCount> {
        counted(&self.distances)
    }
}

/// The classes from the first to the last that any request is in.
fn counted(classes: &[u64; CLASSES]) -> Vec<PowerOfTwoCount> {
    let class = |(power, requests): (usize, &u64)| PowerOfTwoCount { bytes: 1 << power, requests: *requests };
    let mut all: Vec<PowerOfTwoCount> = classes.iter().enumerate().map(class).collect();
    let end = all.iter().rposition(|class| class.requests > 0).map_or(0, |last| last + 1);
    let begin = all.iter().position(|class| class.requests > 0).unwrap_or(0);
    all.drain(begin..end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_size_and_by_distance() {
        let mut requests = BlockRequests::default();
        for (offset, bytes, is_write) in
            [(0, 4096, false), (4096, 6000, true), (4096, 512, true), (1 << 30, 512, false)]
        {
            requests.add(&IoRequest { offset, bytes, is_write, is_through: false, task: 0 });
        }
        assert_eq!((requests.reads, requests.read_bytes), (2, 4608));
        assert_eq!((requests.writes, requests.written_bytes), (2, 6512));
        assert_eq!((requests.sequential, requests.in_place, requests.requests()), (1, 1, 4));
        let pairs = |classes: Vec<PowerOfTwoCount>| -> Vec<(u64, u64)> {
            classes.iter().map(|class| (class.bytes, class.requests)).filter(|(_, requests)| *requests > 0).collect()
        };
        assert_eq!(pairs(requests.sizes()), [(512, 2), (4096, 2)]);
        assert_eq!(pairs(requests.distances()), [(4096, 1), (1 << 29, 1)]);
        assert_eq!(requests.sizes().len(), 4, "empty classes between others are listed");
        assert!(BlockRequests::default().sizes().is_empty());
    }
}
