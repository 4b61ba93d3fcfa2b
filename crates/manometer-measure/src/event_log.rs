//! Reads `events.jsonl`. A line that cannot be read is damage and is left out; those after it are read.

use serde::{Deserialize, Serialize};

use crate::directory::Directory;
use crate::event::EventLine;
use crate::json_line;

/// A line as it is written: its number, from 0, shows lines that are lost, doubled or exchanged.
#[derive(Debug, Serialize, Deserialize)]
struct NumberedLine {
    #[serde(flatten)]
    line: EventLine,
    /// Lines of earlier versions have none.
    #[serde(default)]
    line_number: Option<u64>,
}

/// The file's name in the recording.
pub(crate) const FILE: &str = "events.jsonl";

/// The largest file that is read.
const MOST_BYTES: u64 = 1 << 30;

/// The most damaged lines that are named.
const MAX_NAMED: usize = 8;

/// The bytes of a line, the `number`-th of its file.
pub(crate) fn encode(line: EventLine, number: u64) -> Vec<u8> {
    json_line::encode(&NumberedLine { line, line_number: Some(number) })
}

/// The events of a file.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    pub(crate) events: Vec<EventLine>,
    /// Whether its lines have checksums: then `checksums.jsonl` was written, too.
    pub(crate) has_sums: bool,
}

/// The events in the recording `files`; what cannot be read is added to `damage`.
pub(crate) fn read(files: &Directory, damage: &mut Vec<String>) -> EventLog {
    match files.read_all(FILE, MOST_BYTES) {
        Ok(bytes) => parse(&bytes, damage),
        Err(error) => {
            damage.push(format!("{FILE}: {error}"));
            EventLog::default()
        }
    }
}

fn parse(bytes: &[u8], damage: &mut Vec<String>) -> EventLog {
    let (mut log, mut damaged_lines, mut next) = (EventLog::default(), 0, 0);
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let reason = match json_line::decode::<NumberedLine>(line) {
            Ok((NumberedLine { line, line_number }, has_sum)) if has_sum || !log.has_sums => {
                let is_next = line_number.is_none_or(|number| number == next);
                next = line_number.map_or(next, |number| number.saturating_add(1));
                log.has_sums |= has_sum;
                log.events.push(line);
                if is_next {
                    continue;
                }
                "comes after lines that are lost or exchanged".to_owned()
            }
            Err(_) if line.trim_ascii().is_empty() => continue,
            left_out => {
                // Its own number is not lost.
                next += 1;
                let reason = match left_out {
                    Err(error) if error.is_cut() && !line.ends_with(b"\n") => "it is cut off".to_owned(),
                    Ok(_) => "it has no checksum".to_owned(),
                    Err(error) => error.to_string(),
                };
                format!("is left out: {reason}")
            }
        };
        damaged_lines += 1;
        if damaged_lines <= MAX_NAMED {
            damage.push(format!("{FILE}, line {} {reason}", index + 1));
        }
    }
    if damaged_lines > MAX_NAMED {
        damage.push(format!("{FILE}: {} more lines are damaged", damaged_lines - MAX_NAMED));
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;

    const START: &[u8] = b"{\"t_ns\":1,\"event\":\"started\"}\n";
    const PHASE: &[u8] = b"{\"t_ns\":2,\"event\":\"phase_started\",\"phase\":\"w0\"}\n";
    const END: &[u8] = b"{\"t_ns\":3,\"event\":\"finished\",\"status\":\"complete\"}\n";

    fn parsed(lines: &[&[u8]]) -> (usize, Vec<String>) {
        let mut damage = Vec::new();
        let events = parse(&lines.concat(), &mut damage).events;
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
    fn a_line_with_a_changed_byte_is_left_out() {
        let line = |t_ns| encode(EventLine { t_ns, event: Event::Started }, t_ns);
        let (one, two) = (line(0), line(1));
        assert_eq!(parsed(&[&one, &two]), (2, Vec::new()));
        for at in 0..two.len() - 1 {
            let mut changed = two.clone();
            changed[at] ^= 4;
            let three = line(2);
            let (events, damage) = parsed(&[&one, &changed, &three]);
            assert_eq!((events, damage.len()), (2, 1), "{}: {damage:?}", String::from_utf8_lossy(&changed));
        }
    }

    #[test]
    fn lost_doubled_and_exchanged_lines_are_damage() {
        let lines: Vec<Vec<u8>> =
            (0..4).map(|number| encode(EventLine { t_ns: number, event: Event::Started }, number)).collect();
        let damage_of = |order: &[usize]| parsed(&order.iter().map(|at| &lines[*at][..]).collect::<Vec<_>>()).1.len();
        assert_eq!(damage_of(&[0, 1, 2, 3]), 0);
        for order in [&[0, 2, 3][..], &[1, 2, 3], &[0, 1, 1, 2, 3], &[0, 2, 1, 3], &[1, 0, 2, 3]] {
            assert!(damage_of(order) > 0, "{order:?}");
        }
    }

    #[test]
    fn a_torn_last_line_and_noise_in_its_place_are_damage() {
        for last in [&PHASE[..20], b"\"aaaaaaaa\"aaaaaaaa", b"[[[[[[[["] {
            let (events, damage) = parsed(&[START, last]);
            assert_eq!((events, damage.len()), (1, 1));
            assert!(damage[0].starts_with("events.jsonl, line 2 is left out: "), "{damage:?}");
        }
    }

    #[test]
    fn many_damaged_lines_are_counted() {
        let lines = [b"x\n".as_slice(); 100];
        let (events, damage) = parsed(&lines);
        assert_eq!((events, damage.len()), (0, MAX_NAMED + 1));
        assert!(damage[MAX_NAMED].contains("92 more lines"), "{damage:?}");
    }
}
