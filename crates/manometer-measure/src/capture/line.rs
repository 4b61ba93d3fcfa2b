//! One line of tracefs: a request that is issued or completed.

use std::sync::LazyLock;

use regex::Regex;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The request was issued to the driver.
    Issue,
    /// The driver completed the request.
    Complete,
    /// The request was queued at a device that passes requests on.
    BioQueue,
    /// A device that passes requests on completed the request.
    BioComplete,
}

impl EventKind {
    /// Every kind.
    pub(super) const ALL: [Self; 4] = [Self::Issue, Self::Complete, Self::BioQueue, Self::BioComplete];

    /// The name of the event in the kernel.
    pub(super) fn event(self) -> &'static str {
        match self {
            Self::Issue => "block_rq_issue",
            Self::Complete => "block_rq_complete",
            Self::BioQueue => "block_bio_queue",
            Self::BioComplete => "block_bio_complete",
        }
    }

    /// Whether it is a completion.
    pub fn is_completion(self) -> bool {
        matches!(self, Self::Complete | Self::BioComplete)
    }
}

/// An event of the block layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockEvent {
    /// The time in nanoseconds of the trace's clock; the kernel prints microseconds.
    pub t_ns: u64,
    /// The processor.
    pub cpu: u32,
    /// The process; for a completion the one that was interrupted.
    pub pid: u32,
    /// The kind of the event.
    pub kind: EventKind,
    /// The major and minor number of the device.
    pub device: (u32, u32),
    /// The type of the request, in the kernel's letters: `R`, `W`, `D` (discard), `F` (flush), `S` (sync), `A` (read-ahead),
    /// `M` (metadata).
    pub flags: String,
    /// The first sector, in units of 512 bytes; 0 for a flush, which has none.
    pub sector: u64,
    /// The number of sectors, in units of 512 bytes.
    pub sectors: u64,
    /// The command of the process that issued it; for a completion the error, 0 for none.
    pub tail: String,
}

static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let head = r"-(?<pid>\d+)\s+\[(?<cpu>\d+)\]\s+\S+\s+(?<s>\d+)\.(?<us>\d{6}): (?<event>block_\w+): ";
    // Kernels since 6.5 print the priority before the end.
    let rest = r"(?<major>\d+),(?<minor>\d+) (?<flags>\S+) (?:\d+ )?(?:\([^)]*\) )?(?<sector>\d+) \+ (?<sectors>\d+)(?: \w+,\d+,\d+)? \[(?<tail>.*)\]$";
    Regex::new(&format!("{head}{rest}")).expect("the pattern is fixed and tested")
});

impl BlockEvent {
    /// Parses a line of `trace_pipe`; `None` for any other line.
    pub fn parse(line: &str) -> Option<Self> {
        let found = LINE.captures(line)?;
        let number = |name: &str| found[name].parse::<u64>().ok();
        let small = |name: &str| found[name].parse::<u32>().ok();
        let kind = EventKind::ALL.into_iter().find(|kind| kind.event() == &found["event"])?;
        Some(Self {
            t_ns: number("s")?.checked_mul(1_000_000_000)? + number("us")? * 1_000,
            cpu: small("cpu")?,
            pid: small("pid")?,
            kind,
            device: (small("major")?, small("minor")?),
            flags: found["flags"].to_owned(),
            // The completion of a flush has sector -1, its issue 0.
            sector: number("sector").map(|sector| if sector == u64::MAX { 0 } else { sector })?,
            sectors: number("sectors")?,
            tail: found["tail"].to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_linux_6_18_are_read() {
        let line = "              dd-31918   [001] ..... 24133.370465: block_rq_issue: 254,0 WS 65536 () 319593432 + 128 be,0,4 [dd]";
        let expected = BlockEvent {
            t_ns: 24_133_370_465_000,
            cpu: 1,
            pid: 31918,
            kind: EventKind::Issue,
            device: (254, 0),
            flags: "WS".to_owned(),
            sector: 319_593_432,
            sectors: 128,
            tail: "dd".to_owned(),
        };
        assert_eq!(BlockEvent::parse(line), Some(expected));
    }

    #[test]
    fn names_with_spaces_and_symbols_are_read() {
        let line = " lto cgu.0.rcgu.-31469   [001] ..s.. 24133.370521: block_rq_complete: 254,0 WS () 319593432 + 128 be,0,4 [0]";
        let event = BlockEvent::parse(line).unwrap();
        assert_eq!((event.pid, event.kind, event.tail.as_str()), (31469, EventKind::Complete, "0"));
        let line = "  kworker/u8:3-1-77  [000] ..... 1.000001: block_rq_issue: 8,16 FF 0 () 0 + 0 [a [b] -1]";
        let event = BlockEvent::parse(line).unwrap();
        assert_eq!((event.pid, event.flags.as_str(), event.tail.as_str()), (77, "FF", "a [b] -1"));
    }

    #[test]
    fn lines_of_older_kernels_of_bios_and_of_commands_are_read() {
        let lines = [
            "  fio-99    [003] d..1   12.345678: block_rq_issue: 259,0 R 4096 () 8 + 8 [fio]",
            "  <idle>-0  [003] d.h1   12.345699: block_rq_complete: 259,0 R () 8 + 8 [-5]",
            "  dd-12     [000] .....   9.000000: block_bio_queue: 252,1 WS 2048 + 128 [dd]",
            "  <idle>-0  [000] d.h..   9.000100: block_bio_complete: 252,1 WS 2048 + 128 [0]",
            "  smartctl-5 [000] .....  9.1 00000: nothing",
            "  smartctl-5 [000] .....  9.100000: block_rq_issue: 8,0 N 36 (12 00 00 00 24 00) 0 + 0 none,0,0 [smartctl]",
        ];
        let kinds: Vec<Option<EventKind>> = lines.iter().map(|line| Some(BlockEvent::parse(line)?.kind)).collect();
        let expected = [EventKind::Issue, EventKind::Complete, EventKind::BioQueue, EventKind::BioComplete]
            .map(Some)
            .into_iter()
            .chain([None, Some(EventKind::Issue)]);
        assert_eq!(kinds, expected.collect::<Vec<_>>());
        assert_eq!(BlockEvent::parse(lines[1]).unwrap().tail, "-5");
    }

    #[test]
    fn a_flush_has_the_same_sector_when_issued_and_completed() {
        let lines = [
            "  kworker/1:1H-78 [001] ..... 7.443654: block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [kworker/1:1H]",
            "  <idle>-0 [001] ..s.. 7.443671: block_rq_complete: 254,0 FF () 18446744073709551615 + 0 none,0,0 [0]",
        ];
        assert!(lines.iter().all(|line| BlockEvent::parse(line).unwrap().sector == 0));
    }

    #[test]
    fn other_lines_are_none() {
        for line in ["", "# tracer: nop", "CPU:1 [LOST 1234 EVENTS]", "garbage: block_rq_issue: 8,0"] {
            assert_eq!(BlockEvent::parse(line), None, "{line}");
        }
        let huge = "  dd-12 [000] ..... 99999999999999999999.000000: block_rq_issue: 8,0 W 1 () 1 + 1 [dd]";
        assert_eq!(BlockEvent::parse(huge), None);
    }
}
