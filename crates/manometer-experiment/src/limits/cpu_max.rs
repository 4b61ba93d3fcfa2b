//! `cpu.max`: the CPU time that a workload may use in each period.

use std::fmt;
use std::str::FromStr;

use manometer_measure::Span;

use super::value::text_limit;

/// The kernel's default period, and the range that it accepts.
const DEFAULT_PERIOD_US: u64 = 100_000;
const PERIODS_US: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;
const MIN_QUOTA_US: u64 = 1_000;

/// CPU time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuMax {
    /// The CPU time over all cores; none is unlimited.
    pub quota_us: Option<u64>,
    /// The period.
    pub period_us: u64,
}

impl CpuMax {
    const EXPECTED: &str = "a CPU limit: write `QUOTA PERIOD` such as `50ms 100ms` (half a core) or `200000 100000` \
                            (two cores, in microseconds) with a period from 1 ms to 1 s, or `max` for no limit";
}

impl Default for CpuMax {
    fn default() -> Self {
        Self { quota_us: None, period_us: DEFAULT_PERIOD_US }
    }
}

impl FromStr for CpuMax {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (quota, period) = match words.as_slice() {
            [quota] => (*quota, DEFAULT_PERIOD_US),
            [quota, period] => (*quota, microseconds(period)?),
            _ => return Err(()),
        };
        let quota_us = if quota == "max" { None } else { Some(microseconds(quota)?) };
        let is_valid = PERIODS_US.contains(&period) && quota_us.is_none_or(|quota| quota >= MIN_QUOTA_US);
        is_valid.then_some(Self { quota_us, period_us: period }).ok_or(())
    }
}

/// A bare number counts microseconds, as in the kernel's file.
fn microseconds(text: &str) -> Result<u64, ()> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let span: Span = text.parse().map_err(|_| ())?;
    u64::try_from(span.0.as_micros()).map_err(|_| ())
}

impl fmt::Display for CpuMax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.quota_us {
            Some(quota) => write!(f, "{quota} {}", self.period_us),
            None if self.period_us == DEFAULT_PERIOD_US => f.write_str("max"),
            None => write!(f, "max {}", self.period_us),
        }
    }
}

text_limit!(CpuMax, "CpuMax", "50ms 100ms");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_parsed_as_durations_or_microseconds() {
        assert_eq!("50ms 100ms".parse(), "50000 100000".parse::<CpuMax>());
        assert_eq!("50000".parse(), "50000 100000".parse::<CpuMax>());
        assert_eq!("max".parse(), Ok(CpuMax::default()));
        for text in ["max", "max 50000", "2000 5000"] {
            assert_eq!(text.parse::<CpuMax>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_quotas_are_rejected() {
        for text in ["", "half", "0", "50ms 2s", "50ms 10us", "1 2 3", "50%"] {
            assert_eq!(text.parse::<CpuMax>(), Err(()), "{text}");
        }
    }
}
