//! The rate at which bcache writes dirty data back: Linux 6.1, `drivers/md/bcache/writeback.c` and `util.c`. A PI controller
//! sets it every 5 s from how far dirty data is from its target, and from how thinly it fills its buckets.

use crate::tier::events::Ns;

const SECOND: Ns = 1_000_000_000;
/// The interval of [`WriteBackRate::update`].
pub const UPDATE_NS: Ns = 5 * SECOND;
const UPDATE_S: i64 = 5;
/// The size of a sector in bytes.
pub const SECTOR: u64 = 512;
/// Sectors per second at first, at least, and without a limit.
const RATE_FIRST: i64 = 1024;
const RATE_MIN: i64 = 8;
const RATE_UNLIMITED: i64 = i32::MAX as i64;
/// The seconds in which the proportional term writes back the error, and of the integral term.
const PROPORTIONAL_S: i64 = 40;
const INTEGRAL_S: i64 = 10_000;
/// Updates without a request after which there is no limit.
const IDLE_UPDATES: u32 = 6;
/// The percentages of the cache in use from which thinly filled buckets raise the rate, and by how much a percent.
const FRAGMENT_TERMS: [(i64, i64); 3] = [(64, 1000), (57, 10), (50, 1)];
/// Buckets filled to less than one part in so many are thinly filled.
const FRAGMENT: i64 = 3;
/// How far the writer may be ahead of the rate, and behind it.
const AHEAD_NS: Ns = 5 * SECOND / 2;
const BEHIND_NS: Ns = 2 * SECOND;

/// What the rate is set from.
#[derive(Debug, Clone, Copy)]
pub struct DirtyData {
    /// Sectors that are dirty.
    pub sectors: i64,
    /// Sectors that may stay dirty.
    pub target: i64,
    /// The buckets, and those in use.
    pub buckets: i64,
    /// Those that cannot be evicted.
    pub in_use: i64,
    /// Sectors in a bucket.
    pub bucket_sectors: i64,
}

/// The rate, and the time from which the next write-back is due.
#[derive(Debug)]
pub struct WriteBackRate {
    sectors_per_s: i64,
    integral: i64,
    due: Ns,
    ahead: Ns,
    idle_updates: u32,
}

impl WriteBackRate {
    /// The rate of a cache that is new. At `scale` a block counts as so many.
    pub fn new(scale: u64) -> Self {
        Self { sectors_per_s: RATE_FIRST, integral: 0, due: 0, ahead: AHEAD_NS * scale, idle_updates: 0 }
    }

    /// Sets the rate.
    pub fn update(&mut self, now: Ns, dirty: &DirtyData) {
        self.idle_updates += 1;
        if self.idle_updates >= IDLE_UPDATES {
            self.sectors_per_s = RATE_UNLIMITED;
            return;
        }
        let error = dirty.sectors - dirty.target;
        // The integral grows only while the writer keeps up, and falls only while it is above 0.
        let keeps_up = now < self.due + SECOND / 1000;
        if error < 0 && self.integral > 0 || error > 0 && keeps_up {
            self.integral += error * UPDATE_S;
        }
        let proportional = (error / PROPORTIONAL_S).max(fragment_term(dirty));
        self.sectors_per_s = (proportional + self.integral / INTEGRAL_S).clamp(RATE_MIN, RATE_UNLIMITED);
    }

    /// Ends an unlimited rate, because of a request.
    pub fn end_idle(&mut self) {
        if self.idle_updates >= IDLE_UPDATES {
            self.sectors_per_s = 1;
        }
        self.idle_updates = 0;
    }

    /// Begins to count anew.
    pub fn reset(&mut self, now: Ns) {
        self.due = now;
    }

    /// How long to wait after `sectors` were written back.
    pub fn delay(&mut self, now: Ns, sectors: u64) -> Ns {
        self.due += sectors * SECOND / self.sectors_per_s as u64;
        self.due = self.due.clamp(now.saturating_sub(BEHIND_NS), now + self.ahead);
        self.due.saturating_sub(now)
    }
}

/// The rate for thinly filled buckets, or the least number if they are none.
fn fragment_term(dirty: &DirtyData) -> i64 {
    let percent = 100 * dirty.in_use / dirty.buckets.max(1);
    let term = FRAGMENT_TERMS.iter().find(|(from, _)| percent > *from);
    match term {
        Some((from, per_percent))
            if dirty.sectors > 0 && dirty.in_use * dirty.bucket_sectors / dirty.sectors > FRAGMENT =>
        {
            dirty.sectors / dirty.in_use * per_percent * (percent - from)
        }
        _ => i64::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRTY: DirtyData = DirtyData { sectors: 0, target: 10_000, buckets: 100, in_use: 0, bucket_sectors: 1000 };

    fn rates(dirty: &[DirtyData]) -> Vec<i64> {
        let mut rate = WriteBackRate::new(1);
        let rates = dirty.iter().zip(1..).map(|(dirty, at)| {
            rate.end_idle();
            rate.reset(at * UPDATE_NS);
            rate.update(at * UPDATE_NS, dirty);
            rate.sectors_per_s
        });
        rates.collect()
    }

    #[test]
    fn the_rate_is_a_fortieth_of_the_excess_and_what_has_accumulated() {
        let dirty = [14_000, 14_000, 90_000, 9_000, 0].map(|sectors| DirtyData { sectors, ..DIRTY });
        // 4,000 / 40 + 20,000 / 10,000; …; -1,000 / 40 + 435,000 / 10,000; less than the least.
        assert_eq!(rates(&dirty), [102, 104, 2044, 18, RATE_MIN]);
    }

    #[test]
    fn thinly_filled_buckets_raise_it() {
        let at = |in_use, sectors| DirtyData { sectors, in_use, ..DIRTY };
        let dirty = [at(50, 5000), at(55, 5500), at(60, 6000), at(70, 7000), at(70, 70_000 / 3)];
        assert_eq!(rates(&dirty), [RATE_MIN, 100 * 5, 100 * 10 * 3, 100 * 1000 * 6, 333 + 6]);
    }

    #[test]
    fn a_writer_that_lags_accumulates_nothing_and_an_idle_cache_has_no_limit() {
        let dirty = DirtyData { sectors: 50_000, ..DIRTY };
        let mut rate = WriteBackRate::new(1);
        (1..6).for_each(|at| rate.update(at * UPDATE_NS, &dirty));
        assert_eq!((rate.sectors_per_s, rate.integral), (1000, 0));
        rate.update(6 * UPDATE_NS, &dirty);
        assert_eq!(rate.sectors_per_s, RATE_UNLIMITED);
        rate.end_idle();
        assert_eq!(rate.sectors_per_s, 1);
        rate.update(7 * UPDATE_NS, &dirty);
        assert_eq!(rate.sectors_per_s, 1000);
    }

    #[test]
    fn a_delay_is_at_most_two_and_a_half_seconds_and_two_are_made_up() {
        let mut rate = WriteBackRate::new(1);
        assert_eq!(rate.delay(0, 512), SECOND / 2);
        assert_eq!((rate.delay(0, 1 << 20), rate.delay(AHEAD_NS, 0)), (AHEAD_NS, 0));
        // At 100 s it was due at 98 s.
        assert_eq!((rate.delay(100 * SECOND, 0), rate.delay(100 * SECOND, 2560)), (0, SECOND / 2));
    }
}
