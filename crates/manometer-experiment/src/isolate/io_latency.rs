//! `io.latency`: the latency that the kernel is to keep for a workload by holding others back.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use manometer_measure::Span;

use super::value::text_limit;

/// The mean latency to keep; none where nothing is to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoLatency {
    /// In microseconds, as the kernel counts it.
    pub target_us: Option<u64>,
}

impl IoLatency {
    const WANTED: &str = "latency to keep: write `10ms`, or `none`";
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
    fn targets_are_times() {
        assert_eq!("10ms".parse(), Ok(IoLatency { target_us: Some(10_000) }));
        assert_eq!("none".parse(), Ok(IoLatency::default()));
        assert_eq!("10ms".parse::<IoLatency>().unwrap().to_string(), "10ms");
        for text in ["0ms", "10", "fast", "1ns"] {
            assert_eq!(text.parse::<IoLatency>(), Err(()), "{text}");
        }
    }
}
