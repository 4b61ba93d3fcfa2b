//! The offset between the clocks of two hosts, and its uncertainty.
//!
//! If chrony or PTP synchronises both hosts, their wall clocks agree within the bounds that these report, and the offset of
//! their monotonic clocks follows. Otherwise, or if that is more precise, the offset is estimated from round trips: the other
//! clock was read between a request and its answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::WallAnchor;
use crate::program;

/// How long chrony's and PTP's clients may take.
const LIMIT: Duration = Duration::from_secs(2);
/// Fields of `chronyc -c tracking`: the offset, the root delay and dispersion in seconds, and the leap status.
const CHRONY_FIELDS: usize = 14;
const CHRONY_OFFSET: usize = 4;
const CHRONY_DELAY: usize = 10;
const CHRONY_DISPERSION: usize = 11;
const CHRONY_LEAP: usize = 13;

/// The synchronisation of the wall clock of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSync {
    /// `chrony` or `ptp`.
    pub by: String,
    /// The largest error that it reports, in nanoseconds.
    pub within_ns: u64,
}

/// One request for the clocks of the other host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// The local clocks when the request was sent.
    pub sent: WallAnchor,
    /// The remote clocks when it answered.
    pub remote: WallAnchor,
    /// The local monotonic clock when the answer arrived.
    pub received_ns: u64,
}

/// The source of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffsetSource {
    /// Both wall clocks are synchronised.
    #[serde(rename = "in-step")]
    Synchronised,
    /// From the fastest of several round trips.
    RoundTrip,
    /// Both processes read the same clock.
    SameClock,
}

/// The offset that, added to the local monotonic clock, gives that of the other host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The offset.
    pub offset_ns: i64,
    /// Its largest error.
    pub within_ns: u64,
    /// Its source.
    pub source: OffsetSource,
    /// How far the remote wall clock is ahead of the local one, from the round trips.
    pub calendar_ns: i64,
    /// Whether both wall clocks are reported as synchronised but differ by more than that allows.
    pub is_contradicted: bool,
}

impl ClockOffset {
    /// The offset between processes that read the same clock.
    pub const SAME: Self =
        Self { offset_ns: 0, within_ns: 0, source: OffsetSource::SameClock, calendar_ns: 0, is_contradicted: false };

    /// The offset from `trips` and the synchronisation of both hosts; `None` without round trips.
    pub fn of(trips: &[RoundTrip], ours: Option<&ClockSync>, theirs: Option<&ClockSync>) -> Option<Self> {
        let best = trips.iter().min_by_key(|trip| trip.length_ns())?;
        let estimated = Self {
            offset_ns: difference(best.remote.monotonic_ns, best.middle_ns()),
            within_ns: best.length_ns().div_ceil(2),
            source: OffsetSource::RoundTrip,
            calendar_ns: difference(best.remote.unix_ns, best.sent.unix_ns.saturating_add(best.length_ns() / 2)),
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
        // If the wall clocks agree, the monotonic clocks differ as their anchors do.
        let since = |anchor: WallAnchor| difference(anchor.monotonic_ns, anchor.unix_ns);
        let offset_ns = since(best.remote).wrapping_sub(since(best.sent));
        Some(Self { offset_ns, within_ns, source: OffsetSource::Synchronised, ..estimated })
    }

    /// The clock of the other host at the local time `t_ns`.
    pub fn there_ns(&self, t_ns: u64) -> u64 {
        t_ns.saturating_add_signed(self.offset_ns)
    }
}

impl RoundTrip {
    fn length_ns(&self) -> u64 {
        self.received_ns.saturating_sub(self.sent.monotonic_ns)
    }

    fn middle_ns(&self) -> u64 {
        self.sent.monotonic_ns.saturating_add(self.length_ns() / 2)
    }
}

/// What the monotonic clock of this process is: the boot of its kernel, and its time namespace. `None` if unknown.
pub fn clock_id() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    // Kernels without time namespaces have one clock.
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// The synchronisation of this host's wall clock; `None` if nothing reports it.
pub fn clock_sync() -> Option<ClockSync> {
    let chrony = || program::answer("chronyc", &["-c", "tracking"], LIMIT).ok().and_then(|output| chrony(&output));
    let ptp = || {
        let output = program::answer("pmc", &["-u", "-b", "0", "GET CURRENT_DATA_SET"], LIMIT);
        output.ok().and_then(|output| ptp(&output))
    };
    chrony().or_else(ptp)
}

/// Parses `chronyc -c tracking`: the largest error is the offset plus the dispersion plus half the delay.
fn chrony(output: &str) -> Option<ClockSync> {
    let fields: Vec<&str> = output.trim().split(',').collect();
    if fields.len() != CHRONY_FIELDS || fields[CHRONY_LEAP] == "Not synchronised" {
        return None;
    }
    let seconds = |place: usize| fields[place].parse::<f64>().ok().filter(|seconds| seconds.is_finite());
    let within_s = seconds(CHRONY_OFFSET)?.abs() + seconds(CHRONY_DISPERSION)? + seconds(CHRONY_DELAY)?.abs() / 2.0;
    Some(ClockSync { by: "chrony".to_owned(), within_ns: (within_s * 1e9).ceil() as u64 })
}

/// Parses the data set of `pmc`: the largest error is the offset from the master plus the delay of the whole path.
fn ptp(output: &str) -> Option<ClockSync> {
    let number = |name: &str| {
        let value = output.lines().find_map(|line| line.trim().strip_prefix(name))?;
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

    /// A request at `sent_ns` whose answer took `there_ns` and `back_ns`, to a host whose monotonic clock is ahead by
    /// `ahead_ns` and its wall clock by `calendar_ns`.
    fn trip(sent_ns: u64, there_ns: u64, back_ns: u64, ahead_ns: i64, calendar_ns: i64) -> RoundTrip {
        let remote_ns = sent_ns + there_ns;
        RoundTrip {
            sent: WallAnchor { monotonic_ns: sent_ns, unix_ns: UNIX_NS + sent_ns },
            remote: WallAnchor {
                monotonic_ns: remote_ns.saturating_add_signed(ahead_ns),
                unix_ns: (UNIX_NS + remote_ns).saturating_add_signed(calendar_ns),
            },
            received_ns: remote_ns + back_ns,
        }
    }

    fn within(within_ns: u64) -> ClockSync {
        ClockSync { by: "chrony".to_owned(), within_ns }
    }

    #[test]
    fn the_fastest_round_trip_gives_the_offset_within_half_its_length() {
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
    fn synchronised_wall_clocks_are_better_than_a_slow_network() {
        let trips = [trip(20 * SECOND_NS, 9_000_000, 1_000_000, -7_000_000_000, 2_000)];
        let offset = ClockOffset::of(&trips, Some(&within(30_000)), Some(&within(20_000))).unwrap();
        assert_eq!((offset.source, offset.within_ns), (OffsetSource::Synchronised, 50_000));
        assert_eq!(offset.offset_ns, -7_000_002_000, "right but for the 2 µs by which the wall clocks differ");
        let far = ClockOffset::of(&trips, Some(&within(30_000_000)), Some(&within(1))).unwrap();
        assert_eq!((far.source, far.within_ns), (OffsetSource::RoundTrip, 5_000_000), "the round trip is more precise");
    }

    #[test]
    fn synchronised_wall_clocks_that_differ_by_seconds_are_contradicted() {
        let trips = [trip(SECOND_NS, 50_000, 50_000, 5_000_000_000, 3_000_000_000)];
        let offset = ClockOffset::of(&trips, Some(&within(1_000)), Some(&within(1_000))).unwrap();
        assert!(offset.is_contradicted);
        assert_eq!((offset.source, offset.calendar_ns), (OffsetSource::RoundTrip, 3_000_000_000));
        assert_eq!(offset.offset_ns, 5_000_000_000);
    }

    #[test]
    fn a_huge_error_does_not_overflow() {
        let trips = [trip(SECOND_NS, 50_000, 50_000, 0, 0)];
        let unsure = within(u64::MAX);
        let offset = ClockOffset::of(&trips, Some(&unsure), Some(&unsure)).unwrap();
        assert_eq!((offset.source, offset.within_ns), (OffsetSource::RoundTrip, 50_000));
    }

    /// In the form of chrony's manual.
    #[test]
    fn the_largest_error_of_chrony_is_parsed() {
        let remote = "CB00710F,203.0.113.15,3,1485433082.123456789,0.000006523,-0.000010124,0.000020000,-13.441,0.002,\
                    0.065,0.049812,0.000311,512.5,Normal\n";
        assert_eq!(chrony(remote), Some(ClockSync { by: "chrony".to_owned(), within_ns: 25_223_523 }));
        let lost = "7F7F0101,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,\
                    1.000000000,0.0,Not synchronised\n";
        assert_eq!(chrony(lost), None);
        for damaged in ["", "506 Cannot talk to daemon", &remote.replace("0.049812", "x")] {
            assert_eq!(chrony(damaged), None, "{damaged}");
        }
    }

    /// In the form of linuxptp's manual.
    #[test]
    fn the_largest_error_of_ptp_is_parsed() {
        let remote = "sending: GET CURRENT_DATA_SET\n\t001122.fffe.334455-0 seq 0 RESPONSE MANAGEMENT CURRENT_DATA_SET \
                    \n\t\tstepsRemoved     1\n\t\toffsetFromMaster -63.0\n\t\tmeanPathDelay    1470.5\n";
        assert_eq!(ptp(remote), Some(ClockSync { by: "ptp".to_owned(), within_ns: 1_534 }));
        assert_eq!(ptp("sending: GET CURRENT_DATA_SET\n"), None);
    }
}
