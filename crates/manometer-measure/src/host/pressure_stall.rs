//! Pressure stalls: `/proc/pressure/*`, as the share of time in which tasks waited.

use std::fs;

use super::{Observer, Rates};
use crate::samples::Column;

/// The kernel's files and the lines in them.
const STALLS: [(&str, &str); 5] =
    [("cpu", "some"), ("io", "some"), ("io", "full"), ("memory", "some"), ("memory", "full")];

#[derive(Debug, Default)]
pub(super) struct PressureStall(Rates);

impl Observer for PressureStall {
    fn source(&self) -> &str {
        "pressure_stall"
    }

    fn columns(&self) -> Vec<Column> {
        STALLS.iter().map(|(resource, line)| Column::new(format!("{resource}.{line}"), "share")).collect()
    }

    fn sample(&mut self, t_ns: u64) -> Vec<Option<f64>> {
        self.0.per_second(t_ns, STALLS.iter().map(|(resource, line)| total_s(resource, line)).collect())
    }
}

/// The stalled time so far, in seconds; nothing where the kernel does not account for it.
fn total_s(resource: &str, line: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?;
    parse_total_s(&text, line)
}

fn parse_total_s(text: &str, line: &str) -> Option<f64> {
    let line = text.lines().find(|candidate| candidate.split(' ').next() == Some(line))?;
    let total = line.split(' ').find_map(|field| field.strip_prefix("total="))?;
    Some(total.parse::<u64>().ok()? as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_found_on_its_line() {
        let text =
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse_total_s(text, "some"), Some(2.5));
        assert_eq!(parse_total_s(text, "full"), Some(7e-6));
        assert_eq!(parse_total_s("", "some"), None);
    }
}
