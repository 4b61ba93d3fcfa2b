//! Scales the times of a trace: temporal scaling of a replay.

use super::Input;
use super::span::TraceSpan;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::reader::TraceReader;
use crate::record::Record;

/// Times as if the trace had been recorded faster by a factor; the first request keeps its time.
pub struct Scale {
    input: Input,
    factor: f64,
    zero_ns: Option<u64>,
    requests: u64,
}

impl Scale {
    /// A factor of 2 halves the span.
    ///
    /// # Errors
    /// The factor is invalid.
    pub fn new(input: Input, factor: f64) -> Result<Self, TraceError> {
        if !(factor.is_finite() && factor > 0.0) {
            return Err(TraceError::Wrong(format!(
                "the factor of time is {factor}: write a number above 0, 2 halves it"
            )));
        }
        Ok(Self { input, factor, zero_ns: None, requests: 0 })
    }

    fn scale(&mut self, record: &mut Record) -> Result<(), TraceError> {
        self.requests += 1;
        let Some(time) = record.time_ns else { return Ok(()) };
        let zero = *self.zero_ns.get_or_insert(time);
        let scaled = scaled(time, zero, self.factor).ok_or_else(|| {
            TraceError::Wrong(format!(
                "request {} would overflow 64-bit nanoseconds: use a factor closer to 1 than {}",
                self.requests, self.factor
            ))
        })?;
        record.time_ns = Some(scaled);
        Ok(())
    }
}

impl TraceReader for Scale {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let read = self.input.read(batch)?;
        batch.iter_mut().try_for_each(|record| self.scale(record))?;
        if read == 0 && self.requests > 0 && self.zero_ns.is_none() {
            return Err(TraceError::Wrong("the trace has no times that could be scaled".to_owned()));
        }
        Ok(read)
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.input.keys()
    }

    fn skipped(&self) -> u64 {
        self.input.skipped()
    }

    fn lost(&self) -> u64 {
        self.input.lost()
    }

    fn details(&self) -> Option<&BatchDetails> {
        self.input.details()
    }

    fn dropped(&self) -> DroppedFields {
        self.input.dropped()
    }
}

fn scaled(time_ns: u64, zero_ns: u64, factor: f64) -> Option<u64> {
    let distance = (time_ns.abs_diff(zero_ns) as f64 / factor).round();
    if distance >= u64::MAX as f64 {
        return None;
    }
    match time_ns >= zero_ns {
        true => zero_ns.checked_add(distance as u64),
        false => zero_ns.checked_sub(distance as u64),
    }
}

/// The factor that gives a trace the mean rate `rate` in requests per second.
///
/// # Errors
/// The trace has no rate, or `rate` is invalid.
pub fn factor_for_rate(span: &TraceSpan, rate: f64) -> Result<f64, TraceError> {
    span.need_times("a rate")?;
    if !(rate.is_finite() && rate > 0.0) {
        return Err(TraceError::Wrong(format!("the rate is {rate}: write requests per second, a number above 0")));
    }
    let seconds = (span.last_ns - span.first_ns) as f64 / 1e9;
    if seconds == 0.0 {
        return Err(TraceError::Wrong("all requests are at one time: a trace without a span has no rate".to_owned()));
    }
    Ok(rate * seconds / span.requests as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_move_towards_the_first() {
        assert_eq!(scaled(110, 100, 2.0), Some(105));
        assert_eq!(scaled(90, 100, 2.0), Some(95));
        assert_eq!(scaled(100, 100, 1e-300), Some(100));
        assert_eq!(scaled(101, 100, 0.1), Some(110));
    }

    #[test]
    fn times_beyond_all_bounds_are_none() {
        assert_eq!(scaled(u64::MAX, 0, 0.5), None);
        assert_eq!(scaled(0, 10, 0.5), None);
        assert_eq!(scaled(u64::MAX, u64::MAX - 10, 0.5), None);
    }

    #[test]
    fn a_rate_needs_a_span() {
        let span = TraceSpan { requests: 100, first_ns: 0, last_ns: 10_000_000_000, ..TraceSpan::default() };
        assert_eq!(factor_for_rate(&span, 20.0).ok(), Some(2.0));
        assert!(factor_for_rate(&span, 0.0).is_err());
        assert!(factor_for_rate(&TraceSpan { last_ns: 0, ..span }, 20.0).is_err());
        assert!(factor_for_rate(&TraceSpan { times_absent: 1, ..span }, 20.0).is_err());
        assert!(factor_for_rate(&TraceSpan::default(), 20.0).is_err());
    }
}
