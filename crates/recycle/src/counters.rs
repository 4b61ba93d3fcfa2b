//! What a region has done, as in Song 2018, table 4.3.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::system::processor;

/// Cells that processors share; more processors share a cell.
const SHARDS: usize = 16;

/// Declares the counters once: their place, their field and their meaning.
macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident = $event:ident),+ $(,)?) => {
        /// What is counted.
        #[derive(Debug, Clone, Copy)]
        pub(crate) enum Event {
            $($event),+
        }

        /// What a budget's regions have done since they were opened.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counters {
            $($(#[$doc])* pub $field: u64),+
        }

        const EVENTS: usize = [$(Event::$event),+].len();

        impl Counters {
            /// Every counter by its name.
            pub fn named(&self) -> [(&'static str, u64); EVENTS] {
                [$((stringify!($field), self.$field)),+]
            }
        }

        impl ShardedCounters {
            /// The sums of now.
            pub(crate) fn sums(&self) -> Counters {
                Counters { $($field: self.sum(Event::$event)),+ }
            }
        }
    };
}

counters! {
    /// Accesses and pins that found their page absent.
    faults = Fault,
    /// Writes that found their page write-protected.
    write_faults = WriteFault,
    /// Pages read from the file.
    pages_read = PagesRead,
    /// Pages written to the file.
    pages_written = PagesWritten,
    /// Times that a thread recycled a batch of pages.
    recyclings = Recycling,
    /// Pages that were recycled in these batches.
    pages_recycled = PagesRecycled,
    /// Times that a fault waited for the background thread, because it found no clean page (clean-only recycling).
    background_reclaims = BackgroundReclaim,
    /// Times that a fault wrote dirty pages itself after the background thread had not helped (clean-only recycling),
    /// or found every page held and waited.
    foreground_reclaims = ForegroundReclaim,
    /// Reads and writes that failed.
    errors = Failure,
}

/// A cell on cache lines of its own.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Shard([AtomicU64; EVENTS]);

/// Counters that many threads raise at once.
#[derive(Debug, Default)]
pub(crate) struct ShardedCounters {
    shards: [Shard; SHARDS],
}

impl ShardedCounters {
    pub(crate) fn add(&self, event: Event, count: u64) {
        self.shards[processor() % SHARDS].0[event as usize].fetch_add(count, Ordering::Relaxed);
    }

    fn sum(&self, event: Event) -> u64 {
        self.shards.iter().map(|shard| shard.0[event as usize].load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    #[test]
    fn sums_span_threads_and_have_names() {
        let tally = ShardedCounters::default();
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| tally.add(Event::Fault, 5))));
        });
        let sums = tally.sums();
        assert_eq!(sums.faults, 20);
        assert_eq!(sums.named()[0], ("faults", 20));
        assert!(sums.named()[1..].iter().all(|(_, count)| *count == 0));
    }
}
