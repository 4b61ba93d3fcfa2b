//! The span of a trace, which some transforms need in advance.

use crate::error::TraceError;
use crate::reader::TraceReader;

/// The span of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceSpan {
    /// The number of requests.
    pub requests: u64,
    /// Requests without a time.
    pub times_absent: u64,
    /// Requests earlier than the one before.
    pub times_backward: u64,
    /// The earliest time.
    pub first_ns: u64,
    /// The latest time.
    pub last_ns: u64,
}

impl TraceSpan {
    /// Reads a trace to its end or to its damage, which a second reading finds again.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(reader: &mut dyn TraceReader) -> Result<Self, TraceError> {
        let (mut span, mut batch, mut before) = (Self::default(), Vec::new(), 0);
        loop {
            match reader.read(&mut batch) {
                Ok(0) | Err(TraceError::Damaged { .. }) => return Ok(span),
                Ok(_) => {}
                Err(error) => return Err(error),
            }
            for record in &batch {
                match record.time_ns {
                    Some(time) => before = span.add(time, before),
                    None => span.times_absent += 1,
                }
                span.requests += 1;
            }
        }
    }

    fn add(&mut self, time: u64, before: u64) -> u64 {
        let is_first = self.requests == self.times_absent;
        self.first_ns = if is_first { time } else { self.first_ns.min(time) };
        self.last_ns = self.last_ns.max(time);
        self.times_backward += u64::from(!is_first && time < before);
        time
    }

    /// Checks that every request has a time.
    ///
    /// # Errors
    /// One has none, or there is no request.
    pub fn need_times(&self, what: &str) -> Result<(), TraceError> {
        match self {
            Self { requests: 0, .. } => Err(TraceError::Wrong(format!("{what}: the trace has no requests"))),
            Self { times_absent: 0, .. } => Ok(()),
            Self { times_absent, requests, .. } => Err(TraceError::Wrong(format!(
                "{what} needs the time of every request: {times_absent} of {requests} have none"
            ))),
        }
    }

    /// Nanoseconds from the first time to the last, both inclusive.
    fn length_ns(&self) -> u128 {
        u128::from(self.last_ns - self.first_ns) + 1
    }

    /// The index, from 0, of the equal part of the span that contains `time_ns`.
    pub(super) fn part_of(&self, time_ns: u64, parts: u32) -> u32 {
        let since = u128::from(time_ns.clamp(self.first_ns, self.last_ns) - self.first_ns);
        (since * u128::from(parts) / self.length_ns()) as u32
    }

    /// The first nanosecond of a part.
    pub(super) fn part_begin_ns(&self, part: u32, parts: u32) -> u64 {
        let since = (self.length_ns() * u128::from(part)).div_ceil(u128::from(parts));
        self.first_ns.saturating_add(since.try_into().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_part_begins_where_the_one_before_ends(first_ns: u64, length in 0_u64..1 << 62, parts in 1_u32..100) {
            let last_ns = first_ns.saturating_add(length);
            let span = TraceSpan { first_ns, last_ns, ..TraceSpan::default() };
            prop_assert_eq!(span.part_of(first_ns, parts), 0);
            if last_ns - first_ns >= u64::from(parts) {
                prop_assert_eq!(span.part_of(last_ns, parts), parts - 1);
            }
            for part in 1..parts {
                let begin = span.part_begin_ns(part, parts);
                if (first_ns + 1..=last_ns).contains(&begin) {
                    prop_assert!(span.part_of(begin, parts) >= part);
                    prop_assert!(span.part_of(begin - 1, parts) < part);
                }
            }
        }
    }
}
