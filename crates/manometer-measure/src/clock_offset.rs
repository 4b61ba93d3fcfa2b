//! By how much the clocks of two hosts differ, and how sure that is.
//!
//! Where both hosts are kept in step by chrony or PTP, their calendars agree within what these say, and the offset of
//! their monotonic clocks follows. Elsewhere, and where that is surer, it is estimated from round trips: the other clock
//! was read somewhere between a question and its answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::WallAnchor;
use crate::program;

/// How long a program may take that tells whether the calendar is kept in step.
const LIMIT: Duration = Duration::from_secs(2);
/// Fields of `chronyc -c tracking`: the offset, the root delay and dispersion in seconds, and the leap status.
const CHRONY_FIELDS: usize = 14;
const CHRONY_OFFSET: usize = 4;
const CHRONY_DELAY: usize = 10;
const CHRONY_DISPERSION: usize = 11;
const CHRONY_LEAP: usize = 13;

/// Who keeps a host's calendar in step, and within how much of the true time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSync {
    /// `chrony` or `ptp`.
    pub by: String,
    /// The most that it says to be off, in nanoseconds.
    pub within_ns: u64,
}

/// One question for the other host's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Our clocks when it was asked.
    pub asked: WallAnchor,
    /// The other host's clocks when it answered.
    pub told: WallAnchor,
    /// When the answer came, on our monotonic clock.
    pub heard_ns: u64,
}

/// How the offset is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffsetSource {
    /// Both wall clocks are synchronised.
    #[serde(rename = "in-step")]
    Synchronised,
    /// From the fastest of several round trips.
    RoundTrip,
}

/// What is to be added to our monotonic clock for the other host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// How much.
    pub offset_ns: i64,
    /// The most that this may be wrong by.
    pub within_ns: u64,
    /// How it is known.
    pub source: OffsetSource,
    /// By how much the other calendar is ahead of ours, as far as the round trips tell.
    pub calendar_ns: i64,
    /// Whether both calendars were said to be in step and are further apart than that allows.
    pub is_contradicted: bool,
}

impl ClockOffset {
    /// The offset that `trips` show, with what both hosts say of their calendars; nothing without any.
    pub fn of(trips: &[RoundTrip], ours: Option<&ClockSync>, theirs: Option<&ClockSync>) -> Option<Self> {
        let best = trips.iter().min_by_key(|trip| trip.length_ns())?;
        let estimated = Self {
            offset_ns: difference(best.told.monotonic_ns, best.middle_ns()),
            within_ns: best.length_ns().div_ceil(2),
            source: OffsetSource::RoundTrip,
            calendar_ns: difference(best.told.unix_ns, best.asked.unix_ns.saturating_add(best.length_ns() / 2)),
            is_contradicted: false,
        };
        let Some(within_ns) = ours.zip(theirs).map(|(ours, theirs)| ours.within_ns.saturating_add(theirs.within_ns))
        else {
            return Some(estimated);
        };
        if estimated.calendar_ns.unsigned_abs() > within_ns.saturating_add(estimated.within_ns) {
            return Some(Self { is_contradicted: true, ..estimated });
        }
        if within_ns > estimated.within_ns {
            return Some(estimated);
        }
        // Where the calendars agree, the monotonic clocks differ by what their anchors do.
        let since = |anchor: WallAnchor| difference(anchor.monotonic_ns, anchor.unix_ns);
        let offset_ns = since(best.told).wrapping_sub(since(best.asked));
        Some(Self { offset_ns, within_ns, source: OffsetSource::Synchronised, ..estimated })
    }

    /// The other host's clock at our `t_ns`.
    pub fn there_ns(&self, t_ns: u64) -> u64 {
        t_ns.saturating_add_signed(self.offset_ns)
    }
}

impl RoundTrip {
    fn length_ns(&self) -> u64 {
        self.heard_ns.saturating_sub(self.asked.monotonic_ns)
    }

    fn middle_ns(&self) -> u64 {
        self.asked.monotonic_ns.saturating_add(self.length_ns() / 2)
    }
}

/// Who keeps this host's calendar in step; nothing where nobody says so.
pub fn clock_sync() -> Option<ClockSync> {
    let chrony = || program::answer("chronyc", &["-c", "tracking"], LIMIT).ok().and_then(|told| chrony(&told));
    let ptp = || {
        let told = program::answer("pmc", &["-u", "-b", "0", "GET CURRENT_DATA_SET"], LIMIT);
        told.ok().and_then(|told| ptp(&told))
    };
    chrony().or_else(ptp)
}

/// Reads `chronyc -c tracking`: the most that the clock can be off is its offset, the dispersion and half the delay.
fn chrony(told: &str) -> Option<ClockSync> {
    let fields: Vec<&str> = told.trim().split(',').collect();
    if fields.len() != CHRONY_FIELDS || fields[CHRONY_LEAP] == "Not synchronised" {
        return None;
    }
    let seconds = |place: usize| fields[place].parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    let within_s = seconds(CHRONY_OFFSET)?.abs() + seconds(CHRONY_DISPERSION)? + seconds(CHRONY_DELAY)?.abs() / 2.0;
    Some(ClockSync { by: "chrony".to_owned(), within_ns: (within_s * 1e9).ceil() as u64 })
}

/// Reads the data set of `pmc`: the offset from the master, and the whole path, which may be of one direction.
fn ptp(told: &str) -> Option<ClockSync> {
    let number = |name: &str| {
        let value = told.lines().find_map(|line| line.trim().strip_prefix(name))?;
        value.trim().parse::<f64>().ok().filter(|value| value.is_finite())
    };
    let within_ns = number("offsetFromMaster")?.abs() + number("meanPathDelay")?.abs();
    Some(ClockSync { by: "ptp".to_owned(), within_ns: within_ns.ceil() as u64 })
}

fn difference(left: u64, right: u64) -> i64 {
    left.wrapping_sub(right).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const UNIX_NS: u64 = 1_700_000_000 * SECOND_NS;

    /// A question at `asked_ns` whose answer took `there_ns` and `back_ns`, to a host whose monotonic clock is ahead by
    /// `ahead_ns` and its calendar by `calendar_ns`.
    fn trip(asked_ns: u64, there_ns: u64, back_ns: u64, ahead_ns: i64, calendar_ns: i64) -> RoundTrip {
        let told_ns = asked_ns + there_ns;
        RoundTrip {
            asked: WallAnchor { monotonic_ns: asked_ns, unix_ns: UNIX_NS + asked_ns },
            told: WallAnchor {
                monotonic_ns: told_ns.saturating_add_signed(ahead_ns),
                unix_ns: (UNIX_NS + told_ns).saturating_add_signed(calendar_ns),
            },
            heard_ns: told_ns + back_ns,
        }
    }

    fn within(within_ns: u64) -> ClockSync {
        ClockSync { by: "chrony".to_owned(), within_ns }
    }

    #[test]
    fn the_fastest_round_trip_tells_the_offset_within_half_its_length() {
        for ahead_ns in [0, 3_200_000_000, -50_000] {
            let trips = [
                trip(SECOND_NS, 900_000, 100_000, ahead_ns, 0),
                trip(2 * SECOND_NS, 60_000, 40_000, ahead_ns, 0),
                trip(3 * SECOND_NS, 10_000, 900_000, ahead_ns, 0),
            ];
            let offset = ClockOffset::of(&trips, None, Some(&within(1))).unwrap();
            assert_eq!((offset.offset_ns, offset.within_ns), (ahead_ns + 10_000, 50_000));
            assert_eq!(offset.source, OffsetSource::RoundTrip);
            assert_eq!(offset.there_ns(SECOND_NS), SECOND_NS.saturating_add_signed(ahead_ns + 10_000));
        }
        assert_eq!(ClockOffset::of(&[], None, None), None);
    }

    #[test]
    fn calendars_in_step_tell_it_better_than_a_slow_network() {
        let trips = [trip(20 * SECOND_NS, 9_000_000, 1_000_000, -7_000_000_000, 2_000)];
        let offset = ClockOffset::of(&trips, Some(&within(30_000)), Some(&within(20_000))).unwrap();
        assert_eq!((offset.source, offset.within_ns), (OffsetSource::Synchronised, 50_000));
        assert_eq!(offset.offset_ns, -7_000_002_000, "right but for the 2 µs by which the calendars differ");
        let far = ClockOffset::of(&trips, Some(&within(30_000_000)), Some(&within(1))).unwrap();
        assert_eq!((far.source, far.within_ns), (OffsetSource::RoundTrip, 5_000_000), "the round trip is surer");
    }

    #[test]
    fn calendars_that_differ_by_seconds_are_not_believed() {
        let trips = [trip(SECOND_NS, 50_000, 50_000, 5_000_000_000, 3_000_000_000)];
        let offset = ClockOffset::of(&trips, Some(&within(1_000)), Some(&within(1_000))).unwrap();
        assert!(offset.is_contradicted);
        assert_eq!((offset.source, offset.calendar_ns), (OffsetSource::RoundTrip, 3_000_000_000));
        assert_eq!(offset.offset_ns, 5_000_000_000);
    }

    #[test]
    fn whatever_hosts_say_they_are_within_nothing_overflows() {
        let trips = [trip(SECOND_NS, 50_000, 50_000, 0, 0)];
        let unsure = within(u64::MAX);
        let offset = ClockOffset::of(&trips, Some(&unsure), Some(&unsure)).unwrap();
        assert_eq!((offset.source, offset.within_ns), (OffsetSource::RoundTrip, 50_000));
    }

    /// In the form of chrony's manual.
    #[test]
    fn chrony_says_how_far_it_may_be_off() {
        let told = "CB00710F,203.0.113.15,3,1485433082.123456789,0.000006523,-0.000010124,0.000020000,-13.441,0.002,\
                    0.065,0.049812,0.000311,512.5,Normal\n";
        assert_eq!(chrony(told), Some(ClockSync { by: "chrony".to_owned(), within_ns: 25_223_523 }));
        let lost = "7F7F0101,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,\
                    1.000000000,0.0,Not synchronised\n";
        assert_eq!(chrony(lost), None);
        for damaged in ["", "506 Cannot talk to daemon", &told.replace("0.049812", "x")] {
            assert_eq!(chrony(damaged), None, "{damaged}");
        }
    }

    /// In the form of linuxptp's manual.
    #[test]
    fn ptp_says_how_far_it_may_be_off() {
        let told = "sending: GET CURRENT_DATA_SET\n\t001122.fffe.334455-0 seq 0 RESPONSE MANAGEMENT CURRENT_DATA_SET \
                    \n\t\tstepsRemoved     1\n\t\toffsetFromMaster -63.0\n\t\tmeanPathDelay    1470.5\n";
        assert_eq!(ptp(told), Some(ClockSync { by: "ptp".to_owned(), within_ns: 1_534 }));
        assert_eq!(ptp("sending: GET CURRENT_DATA_SET\n"), None);
    }
}
