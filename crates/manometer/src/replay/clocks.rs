//! The clocks of the hosts on which a replay's processes run.

use manometer_analysis::findings::Rule;
use manometer_analysis::findings::replay::{CLOCKS_APART, CLOCKS_UNSURE};
use manometer_measure::clock_offset::{ClockOffset, OffsetSource};
use manometer_measure::dispatch::LATE_NS;
use manometer_measure::event::Finding;
use serde_json::{Value, json};

/// Calendars that differ by more than this belong to hosts that nobody keeps in step.
const CALENDAR_NS_MAX: u64 = 1_000_000_000;

/// How a process on another host knows when to begin.
#[derive(Debug, Clone)]
pub(super) struct HostClock {
    /// The process, counted from 1.
    pub(super) process: usize,
    /// The command that leads to its host.
    pub(super) on: String,
    /// Its clock against ours.
    pub(super) offset: ClockOffset,
    /// Who keeps its calendar in step.
    pub(super) in_step_by: Option<String>,
}

impl HostClock {
    /// For machines.
    pub(super) fn machine_form(&self) -> Value {
        let us = |ns: i64| ns as f64 / 1e3;
        json!({
            "process": self.process,
            "on": self.on,
            "offset_us": us(self.offset.offset_ns),
            "within_us": self.offset.within_ns as f64 / 1e3,
            "source": self.offset.source,
            "in_step_by": self.in_step_by,
            "calendar_us": us(self.offset.calendar_ns),
        })
    }

    /// For people.
    pub(super) fn told(&self) -> String {
        let source = match (self.offset.source, &self.in_step_by) {
            (OffsetSource::InStep, Some(by)) => format!("by {by}"),
            _ => "by round trips".to_owned(),
        };
        format!(
            "process {} on `{}`: its clock is {:+.6} s from ours, within {:.1} µs, {source}",
            self.process,
            self.on,
            self.offset.offset_ns as f64 / 1e9,
            self.offset.within_ns as f64 / 1e3
        )
    }

    /// What a reader must know.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let tell =
            |rule: Rule, what: &str| rule.tell(None, &format!("Process {} on `{}` {what}", self.process, self.on));
        let apart = self.offset.is_contradicted || self.offset.calendar_ns.unsigned_abs() > CALENDAR_NS_MAX;
        let apart = apart.then(|| {
            let calendar_s = self.offset.calendar_ns as f64 / 1e9;
            let what = format!(
                "has a calendar that differs from ours by {calendar_s:+.3} s. It began on time all the same, by \
                 round trips."
            );
            tell(CLOCKS_APART, &what)
        });
        let unsure = (self.offset.within_ns > LATE_NS).then(|| {
            let within_ms = self.offset.within_ns as f64 / 1e6;
            tell(CLOCKS_UNSURE, &format!("may have begun up to {within_ms:.3} ms earlier or later than the others."))
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
        HostClock { process: 2, on: "ssh node2 manometer".to_owned(), offset, in_step_by: None }
    }

    #[test]
    fn hosts_that_differ_by_seconds_are_a_finding_and_those_that_do_not_are_none() {
        let ids = |clock: &HostClock| clock.findings().into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert!(ids(&clock(40_000, 900_000)).is_empty());
        assert_eq!(ids(&clock(40_000, -3_200_000_000)), ["clocks-apart"]);
        assert_eq!(ids(&clock(4_000_000, 0)), ["clocks-unsure"]);
        assert!(clock(4_000_000, 0).findings()[0].text.contains("4.000 ms"));
        assert!(clock(40_000, 0).told().contains("+3.000000 s from ours, within 40.0 µs, by round trips"));
    }
}
