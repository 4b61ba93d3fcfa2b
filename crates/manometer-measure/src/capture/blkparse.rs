//! The form of a captured trace: the lines that `blkparse` prints by default.
//!
//! `major,minor cpu sequence seconds.nanoseconds pid action flags sector + sectors [process or error]`, with the
//! actions `D` (issued to the driver), `Q` (queued at a device that passes requests on) and `C` (complete).

use super::line::{BlockEvent, EventKind};

/// One line, without its end. `sequence` counts the processor's events from 1, `start_ns` is the trace's zero.
pub(super) fn text(event: &BlockEvent, sequence: u64, start_ns: u64) -> String {
    let t_ns = event.t_ns.saturating_sub(start_ns);
    let (seconds, nanoseconds) = (t_ns / 1_000_000_000, t_ns % 1_000_000_000);
    let action = match event.kind {
        EventKind::Issue => "D",
        EventKind::BioQueue => "Q",
        EventKind::Complete | EventKind::BioComplete => "C",
    };
    let BlockEvent { device: (major, minor), cpu, pid, flags, sector, sectors, tail, .. } = event;
    format!(
        "{major:>3},{minor:<3} {cpu:>2} {sequence:>8} {seconds:>5}.{nanoseconds:09} {pid:>5} {action:>2} {flags:>3} \
         {sector} + {sectors} [{tail}]"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_blkparse() {
        let line = "  dd-697 [003] ..... 24133.000123: block_rq_issue: 8,0 W 4096 () 223490 + 8 be,0,4 [kjournald]";
        let event = BlockEvent::parse(line).unwrap();
        let expected = "  8,0    3        1     0.000123000   697  D   W 223490 + 8 [kjournald]";
        assert_eq!(text(&event, 1, 24_133_000_000_000), expected);
        let end = BlockEvent { kind: EventKind::Complete, tail: "0".to_owned(), flags: "WFS".to_owned(), ..event };
        let expected = "  8,0    3       12     0.000123000   697  C WFS 223490 + 8 [0]";
        assert_eq!(text(&end, 12, 24_133_000_000_000), expected);
    }
}
