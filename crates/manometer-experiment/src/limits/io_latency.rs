//! `io.latency`: the latency target of a workload, which the kernel protects by throttling other groups.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use manometer_measure::Span;

use super::value::text_limit;

/// A mean latency target; none disables the protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoLatency {
    /// In microseconds, the kernel's unit.
    pub target_us: Option<u64>,
}

impl IoLatency {
    const EXPECTED: &str = "a latency target: write `10ms`, or `none`";
}

impl FromStr for IoLatency {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.trim() == "none" {
            return Ok(Self::default());
        }
        let span: Span = text.parse().map_err(|_| ())?;
        let target_us = u64::try_from(span.0.as_micros()).ok().filter(|us| *us > 0);
        target_us.map(|us| Self { target_us: Some(us) }).ok_or(())
    }
}

impl fmt::Display for IoLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target_us {
            Some(us) => Span(Duration::from_micros(us)).fmt(f),
            None => f.write_str("none"),
        }
    }
}

text_limit!(IoLatency, "IoLatency", "10ms");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_parsed_as_durations() {
        assert_eq!("10ms".parse(), Ok(IoLatency { target_us: Some(10_000) }));
        assert_eq!("none".parse(), Ok(IoLatency::default()));
        assert_eq!("10ms".parse::<IoLatency>().unwrap().to_string(), "10ms");
        for text in ["0ms", "10", "fast", "1ns"] {
            assert_eq!(text.parse::<IoLatency>(), Err(()), "{text}");
        }
    }
}
