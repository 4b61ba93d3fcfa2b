//! Detects sequential streams in a trace, whichever thread sends the requests.

use std::collections::HashMap;

/// The most streams tracked per client and device.
const STREAMS_MAX: usize = 16;
/// The number of streams of objects. Neighbouring objects, each of which is a file, are in different streams.
const OBJECT_STREAMS: u32 = 4096;

/// A client, if known, and its device.
type StreamOwner = (Option<u64>, u32);

/// A stream and its end.
#[derive(Debug)]
struct Stream {
    end: u64,
    number: u32,
}

/// Streams of requests: a request that starts where another of the same client and device ended continues its stream.
#[derive(Debug, Default)]
pub struct StreamDetector {
    /// The streams of each client and device, the most recently used one last.
    streams: HashMap<StreamOwner, Vec<Stream>, rapidhash::fast::RandomState>,
    count: u32,
}

impl StreamDetector {
    /// The number of streams.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The stream of a block request. One that continues none takes over the least recently used stream.
    pub fn of(&mut self, client: Option<u64>, device: u32, offset: u64, bytes: u64) -> u32 {
        let streams = self.streams.entry((client, device)).or_default();
        let at = streams.iter().rposition(|stream| stream.end == offset);
        let number = match at {
            Some(at) => streams.remove(at).number,
            None if streams.len() == STREAMS_MAX => streams.remove(0).number,
            None => {
                self.count += 1;
                self.count - 1
            }
        };
        streams.push(Stream { end: offset + bytes, number });
        number
    }

    /// The stream of a request for an object.
    pub fn of_object(&mut self, id: u32) -> u32 {
        let stream = id % OBJECT_STREAMS;
        self.count = self.count.max(stream + 1);
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_continue_each_other_are_of_one_stream() {
        let mut streams = StreamDetector::default();
        let found =
            [(0, 10), (500, 10), (10, 10), (510, 10), (20, 5)].map(|(at, bytes)| streams.of(None, 0, at, bytes));
        assert_eq!((found, streams.count()), ([0, 1, 0, 1, 0], 2));
        assert_eq!((streams.of(Some(3), 0, 25, 5), streams.of(None, 1, 25, 5)), (2, 3), "others");
    }

    #[test]
    fn a_client_at_random_has_no_more_streams_than_are_distinguished() {
        let mut streams = StreamDetector::default();
        for at in 0..100 {
            streams.of(None, 0, at * 7919, 1);
        }
        assert_eq!(streams.count(), STREAMS_MAX as u32);
        assert_eq!(streams.of(None, 0, 99 * 7919 + 1, 1), 99 % STREAMS_MAX as u32);
        let mut objects = StreamDetector::default();
        assert_ne!(objects.of_object(4095), objects.of_object(4096));
        assert_eq!(objects.count(), OBJECT_STREAMS);
    }
}
