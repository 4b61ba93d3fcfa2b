//! The clocks of the hosts that run workers.

use manometer_analysis::findings::Rule;
use manometer_analysis::findings::replay::{CLOCKS_APART, CLOCKS_UNSURE};
use manometer_measure::clock_offset::{ClockOffset, OffsetSource};
use manometer_measure::dispatch::LATE_NS;
use manometer_measure::event::Finding;
use serde_json::{Value, json};

/// Wall clocks that differ by more than this belong to hosts without time synchronisation.
const CALENDAR_NS_MAX: u64 = 1_000_000_000;

/// The clock of a process on another host.
#[derive(Debug, Clone)]
pub struct HostClock {
    /// The process, counted from 1.
    pub process: usize,
    /// The command that leads to the host, such as `ssh`.
    pub on: String,
    /// The offset of its clock from the local one.
    pub offset: ClockOffset,
    /// The service that synchronises its wall clock, if any.
    pub in_step_by: Option<String>,
    /// The offset after the end, in nanoseconds; `None` before, and where the process was lost.
    pub offset_after_ns: Option<i64>,
}

impl HostClock {
    /// As JSON: offsets and bounds in microseconds.
    pub fn machine_form(&self) -> Value {
        let us = |ns: i64| ns as f64 / 1e3;
        json!({
            "process": self.process,
            "on": self.on,
            "offset_us": us(self.offset.offset_ns),
            "offset_after_us": self.offset_after_ns.map(us),
            "within_us": self.offset.within_ns as f64 / 1e3,
            "source": self.offset.source,
            "in_step_by": self.in_step_by,
            "calendar_us": us(self.offset.calendar_ns),
        })
    }

    /// A description for the user: the offset and its uncertainty.
    pub fn describe(&self) -> String {
        let source = match (self.offset.source, &self.in_step_by) {
            (OffsetSource::Synchronised, Some(by)) => format!("by {by}"),
            (OffsetSource::SameClock, _) => "the same clock".to_owned(),
            _ => "by round trips".to_owned(),
        };
        let moved = self
            .moved_ns()
            .map_or(String::new(), |moved_ns| format!("; it moved by {:+.1} µs until the end", moved_ns as f64 / 1e3));
        format!(
            "process {} on `{}`: clock offset {:+.6} s (± {:.1} µs), {source}{moved}",
            self.process,
            self.on,
            self.offset.offset_ns as f64 / 1e9,
            self.offset.within_ns as f64 / 1e3
        )
    }

    /// By how much the offset changed from the start to the end, in nanoseconds.
    pub fn moved_ns(&self) -> Option<i64> {
        self.offset_after_ns.map(|after_ns| after_ns.wrapping_sub(self.offset.offset_ns))
    }

    /// Findings about the clock.
    pub fn findings(&self) -> Vec<Finding> {
        let finding =
            |rule: Rule, what: &str| rule.finding(None, &format!("Process {} on `{}` {what}", self.process, self.on));
        let apart = self.offset.is_contradicted || self.offset.calendar_ns.unsigned_abs() > CALENDAR_NS_MAX;
        let apart = apart.then(|| {
            let calendar_s = self.offset.calendar_ns as f64 / 1e9;
            let what = format!(
                "has a wall clock that differs by {calendar_s:+.3} s. Its start was synchronised by round-trip \
                 times instead."
            );
            finding(CLOCKS_APART, &what)
        });
        let unsure = (self.offset.within_ns > LATE_NS).then(|| {
            let within_ms = self.offset.within_ns as f64 / 1e6;
            finding(CLOCKS_UNSURE, &format!("may have begun up to {within_ms:.3} ms earlier or later than the others."))
        });
        apart.into_iter().chain(unsure).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(within_ns: u64, calendar_ns: i64) -> HostClock {
        let offset = ClockOffset {
            offset_ns: 3_000_000_000,
            within_ns,
            source: OffsetSource::RoundTrip,
            calendar_ns,
            is_contradicted: false,
        };
        HostClock { process: 2, on: "ssh node2 manometer".to_owned(), offset, in_step_by: None, offset_after_ns: None }
    }

    #[test]
    fn only_calendars_apart_by_seconds_or_unsure_clocks_are_findings() {
        let ids = |clock: &HostClock| clock.findings().into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert!(ids(&clock(40_000, 900_000)).is_empty());
        assert_eq!(ids(&clock(40_000, -3_200_000_000)), ["clocks-apart"]);
        assert_eq!(ids(&clock(4_000_000, 0)), ["clocks-unsure"]);
        assert!(clock(4_000_000, 0).findings()[0].text.contains("4.000 ms"));
        assert!(clock(40_000, 0).describe().contains("+3.000000 s (± 40.0 µs), by round trips"));
    }
}
