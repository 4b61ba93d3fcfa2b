//! Reads `events.jsonl`. A line that cannot be read is damage and is left out; those after it are read.

use std::path::Path;

use crate::event::{Event, EventLine};
use crate::regular_file;

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// The most damaged lines that are named.
const MAX_NAMED: usize = 8;

/// The events in the file at `path`; what cannot be read is added to `damage`.
pub(crate) fn read(path: &Path, damage: &mut Vec<String>) -> Vec<EventLine> {
    match regular_file::read(path, MOST_BYTES) {
        Ok(bytes) => parse(&bytes, damage),
        Err(error) => {
            damage.push(format!("events.jsonl: {error}"));
            Vec::new()
        }
    }
}

fn parse(bytes: &[u8], damage: &mut Vec<String>) -> Vec<EventLine> {
    let (mut events, mut damaged_lines) = (Vec::new(), 0);
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(event) => events.push(event),
            Err(_) if line.trim_ascii().is_empty() || is_torn(line, &events) => {}
            Err(error) => {
                damaged_lines += 1;
                if damaged_lines <= MAX_NAMED {
                    damage.push(format!("events.jsonl, line {} is left out: {}", index + 1, reason(&error)));
                }
            }
        }
    }
    if damaged_lines > MAX_NAMED {
        damage.push(format!("events.jsonl: {} more lines are left out", damaged_lines - MAX_NAMED));
    }
    events
}

/// Whether `line`, after `events`, is the last one of a run that was killed while writing it.
fn is_torn(line: &[u8], events: &[EventLine]) -> bool {
    !line.ends_with(b"\n") && !events.iter().any(|line| matches!(line.event, Event::Finished { .. }))
}

/// The reason of `error` without its place, whose line would be that within the line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &[u8] = b"{\"t_ns\":1,\"event\":\"started\"}\n";
    const PHASE: &[u8] = b"{\"t_ns\":2,\"event\":\"phase_started\",\"phase\":\"w0\"}\n";
    const END: &[u8] = b"{\"t_ns\":3,\"event\":\"finished\",\"status\":\"complete\"}\n";

    fn parsed(lines: &[&[u8]]) -> (usize, Vec<String>) {
        let mut damage = Vec::new();
        let events = parse(&lines.concat(), &mut damage);
        (events.len(), damage)
    }

    #[test]
    fn a_damaged_line_is_named_and_those_after_it_are_read() {
        assert_eq!(parsed(&[START, PHASE, END]), (3, Vec::new()));
        let damaged: [&[u8]; 4] = [
            b"{\"t_ns\":2,\"event\":\"phase_started\",\"phase\":\"w0\"\n",
            b"{\"t_ns\":2,\"event\":\"phase_\xff\xfe\",\"phase\":\"w0\"}\n",
            b"{\"t_ns\":2,\"event\":\"phase_mislaid\",\"phase\":\"w0\"}\n",
            b"{\"t_ns\":-2,\"event\":\"phase_started\",\"phase\":\"w0\"}\n",
        ];
        for line in damaged {
            let (events, damage) = parsed(&[START, line, END]);
            assert_eq!((events, damage.len()), (2, 1), "{damage:?}");
            assert!(damage[0].starts_with("events.jsonl, line 2 is left out: "), "{damage:?}");
            assert!(!damage[0].contains("line 1"), "{damage:?}");
        }
    }

    #[test]
    fn a_torn_last_line_is_the_end_of_a_killed_run() {
        assert_eq!(parsed(&[START, &PHASE[..20]]), (1, Vec::new()));
        let (events, damage) = parsed(&[START, END, &PHASE[..20]]);
        assert_eq!((events, damage.len()), (2, 1), "a run that has ended writes no more");
    }

    #[test]
    fn many_damaged_lines_are_counted() {
        let lines = [b"x\n".as_slice(); 100];
        let (events, damage) = parsed(&lines);
        assert_eq!((events, damage.len()), (0, MAX_NAMED + 1));
        assert!(damage[MAX_NAMED].contains("92 more lines"), "{damage:?}");
    }
}
