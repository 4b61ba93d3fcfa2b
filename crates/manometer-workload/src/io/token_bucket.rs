//! The token bucket that holds a workload to its `rate`.

use manometer_measure::Rate;

/// How long unused tokens are kept: a workload that was held up catches up with this many at once.
const BURST_S: f64 = 0.01;

/// Tokens come in evenly; each request takes its own. A request that is larger than the bucket leaves it in
/// debt, so that the rate holds in the long run for requests of any size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TokenBucket {
    rate: Rate,
    tokens: f64,
    filled_ns: u64,
}

impl TokenBucket {
    /// A bucket with tokens for one request at most, at `now_ns`.
    pub(crate) fn new(rate: Rate, now_ns: u64) -> Self {
        Self { rate, tokens: 0.0, filled_ns: now_ns }
    }

    /// Takes the tokens of one request of `bytes`.
    ///
    /// # Errors
    /// They are not available yet: the time at which they will be.
    pub(crate) fn take(&mut self, now_ns: u64, bytes: u64) -> Result<(), u64> {
        self.fill(now_ns);
        if self.tokens < 0.0 {
            let missing_s = -self.tokens / self.per_second();
            return Err(now_ns.saturating_add((missing_s * 1e9).ceil().max(1.0) as u64));
        }
        self.tokens -= match self.rate {
            Rate::Requests(_) => 1.0,
            Rate::Bytes(_) => bytes as f64,
        };
        Ok(())
    }

    fn fill(&mut self, now_ns: u64) {
        let passed_s = now_ns.saturating_sub(self.filled_ns) as f64 / 1e9;
        let most = self.per_second() * BURST_S;
        self.tokens = (self.tokens + passed_s * self.per_second()).min(most);
        self.filled_ns = self.filled_ns.max(now_ns);
    }

    fn per_second(&self) -> f64 {
        match self.rate {
            Rate::Requests(requests) => requests,
            Rate::Bytes(bytes) => bytes as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::{Clock as _, ManualClock};

    use super::*;

    /// Takes as often as it can until `seconds` have passed on a clock that only waits.
    fn taken(rate: Rate, bytes: u64, seconds: u64) -> u64 {
        let clock = ManualClock::at(7);
        let mut bucket = TokenBucket::new(rate, clock.now_ns());
        let mut count = 0;
        while clock.now_ns() < 7 + seconds * 1_000_000_000 {
            match bucket.take(clock.now_ns(), bytes) {
                Ok(()) => count += 1,
                Err(ready_ns) => clock.sleep_until(ready_ns),
            }
        }
        count
    }

    #[test]
    fn the_rate_holds_in_the_long_run() {
        for (rate, bytes, expected) in [
            (Rate::Requests(1000.0), 4096, 10_000),
            (Rate::Requests(0.5), 4096, 5),
            (Rate::Bytes(1 << 20), 4096, 2560),
            (Rate::Bytes(1 << 20), 4 << 20, 3),
        ] {
            let count = taken(rate, bytes, 10);
            assert!(count.abs_diff(expected) <= 1, "{rate}: {count} instead of {expected}");
        }
    }

    #[test]
    fn a_pause_earns_no_more_than_a_burst() {
        let clock = ManualClock::at(0);
        let mut bucket = TokenBucket::new(Rate::Requests(1000.0), 0);
        clock.advance(60_000_000_000);
        let burst = (0..).take_while(|_| bucket.take(clock.now_ns(), 1).is_ok()).count();
        assert_eq!(burst, 11, "ten milliseconds' worth, and the one that goes into debt");
    }

    #[test]
    fn tokens_are_ready_at_the_promised_time() {
        let mut bucket = TokenBucket::new(Rate::Requests(3.0), 0);
        assert_eq!(bucket.take(0, 1), Ok(()));
        let ready_ns = bucket.take(0, 1).unwrap_err();
        assert!(bucket.take(ready_ns - 2, 1).is_err());
        assert_eq!(bucket.take(ready_ns, 1), Ok(()));
    }
}
