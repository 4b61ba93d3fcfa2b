//! How many pages to read at once: notices streams of sequential reads among others.

use std::ops::Range;

use parking_lot::Mutex;

use crate::Advice;

/// Streams that are followed at once, in one region.
const STREAMS: usize = 16;

/// Pages read when a stream is noticed; each further read doubles.
const FIRST_WINDOW: u64 = 4;

#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    /// The page at which it goes on.
    next: u64,
    /// Pages read at once last time; 0: unused.
    window: u64,
}

/// The streams of one region.
#[derive(Debug, Default)]
struct Streams {
    streams: [Stream; STREAMS],
    /// The stream that is replaced next.
    oldest: usize,
}

impl Streams {
    /// How many pages to read from the absent `page` on.
    fn window(&mut self, page: u64, max: u64) -> u64 {
        let follows = |stream: &&mut Stream| stream.window > 0 && stream.next == page;
        if let Some(stream) = self.streams.iter_mut().find(follows) {
            let window = if stream.window == 1 { FIRST_WINDOW } else { stream.window * 2 }.min(max);
            *stream = Stream { next: page + window, window };
            return window;
        }
        self.streams[self.oldest] = Stream { next: page + 1, window: 1 };
        self.oldest = (self.oldest + 1) % STREAMS;
        1
    }
}

/// What a region knows of how it is read.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    streams: Mutex<Streams>,
    /// Ranges with advice; the last one that has a page counts.
    advice: Mutex<Vec<(Range<u64>, Advice)>>,
    /// Most pages read at once.
    max: u64,
}

/// Most ranges with advice; the oldest are forgotten.
const MAX_RANGES: usize = 64;

impl ReadAhead {
    pub(crate) fn new(max: u64) -> Self {
        Self { streams: Mutex::default(), advice: Mutex::default(), max: max.max(1) }
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// How many pages to read from the absent `page` on, itself included.
    pub(crate) fn window(&self, page: u64) -> u64 {
        if self.max == 1 {
            return 1;
        }
        let advice = self.advice.lock().iter().rev().find(|(range, _)| range.contains(&page)).map(|found| found.1);
        match advice {
            Some(Advice::Random) => 1,
            Some(Advice::Sequential) => self.max,
            _ => self.streams.lock().window(page, self.max),
        }
    }

    /// Remembers how `pages` will be read.
    pub(crate) fn advise(&self, pages: Range<u64>, advice: Advice) {
        let mut known = self.advice.lock();
        known.retain(|(range, _)| range.start < pages.start || range.end > pages.end);
        if known.len() == MAX_RANGES {
            known.remove(0);
        }
        known.push((pages, advice));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The windows of a reader that misses on the first page after each window.
    fn sequential(read_ahead: &ReadAhead, mut page: u64, misses: usize) -> Vec<u64> {
        let mut windows = Vec::new();
        for _ in 0..misses {
            windows.push(read_ahead.window(page));
            page += windows[windows.len() - 1];
        }
        windows
    }

    #[test]
    fn windows_of_a_stream_double_up_to_the_most() {
        assert_eq!(sequential(&ReadAhead::new(32), 100, 7), [1, 4, 8, 16, 32, 32, 32]);
    }

    #[test]
    fn random_reads_are_read_alone_and_do_not_disturb_a_stream() {
        let read_ahead = ReadAhead::new(32);
        assert_eq!(sequential(&read_ahead, 0, 3), [1, 4, 8]);
        for page in (1_000..2_000).step_by(97) {
            assert_eq!(read_ahead.window(page), 1);
        }
        assert_eq!(read_ahead.window(13), 16, "the stream goes on where it was");
    }

    #[test]
    fn advice_decides_where_it_was_given() {
        let read_ahead = ReadAhead::new(32);
        read_ahead.advise(0..100, Advice::Sequential);
        read_ahead.advise(50..60, Advice::Random);
        assert_eq!((read_ahead.window(3), read_ahead.window(55)), (32, 1));
        read_ahead.advise(0..100, Advice::Normal);
        assert_eq!(read_ahead.window(55), 1, "normal advice forgets the ranges within it");
        assert_eq!(read_ahead.advice.lock().len(), 1);
    }

    #[test]
    fn advice_is_bounded() {
        let read_ahead = ReadAhead::new(32);
        (0..1_000).for_each(|page| read_ahead.advise(page..page + 1, Advice::Random));
        assert_eq!(read_ahead.advice.lock().len(), MAX_RANGES);
    }
}
