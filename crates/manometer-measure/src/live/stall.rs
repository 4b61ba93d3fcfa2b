//! Pressure stalls, from `/proc/pressure`.

use std::fs;

use serde::Serialize;

/// The shares of the last ten seconds in which tasks waited for one resource.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stall {
    /// At least one task waited.
    pub some: f64,
    /// All tasks waited; not defined for processors.
    pub full: Option<f64>,
}

/// The stalls of all resources; missing where the kernel does not show them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stalls {
    /// Waiting for storage.
    pub io: Option<Stall>,
    /// Waiting for memory.
    pub memory: Option<Stall>,
    /// Waiting for a processor.
    pub cpu: Option<Stall>,
}

impl Stalls {
    pub(super) fn read() -> Self {
        let read = |name: &str| parse(&fs::read_to_string(format!("/proc/pressure/{name}")).ok()?);
        Self { io: read("io"), memory: read("memory"), cpu: read("cpu") }
    }
}

fn parse(text: &str) -> Option<Stall> {
    let share = |line: &str| {
        let line = text.lines().find_map(|candidate| candidate.strip_prefix(line))?;
        let percent = line.split(' ').find_map(|field| field.strip_prefix("avg10="))?;
        Some(percent.parse::<f64>().ok()? / 100.0)
    };
    Some(Stall { some: share("some ")?, full: share("full ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ten_seconds_are_read() {
        let text =
            "some avg10=12.50 avg60=3.00 avg300=1.00 total=2500000\nfull avg10=6.25 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse(text), Some(Stall { some: 0.125, full: Some(0.0625) }));
        assert_eq!(parse("some avg10=0.00 avg60=0.00\n"), Some(Stall { some: 0.0, full: None }));
        assert_eq!(parse(""), None);
    }
}
