//! A line for each interval while the workload runs.

use std::io::{Write as _, stderr, stdout};

use manometer_measure::LatencyHistogram;
use manometer_session::protocol::Message;
use manometer_workload::sample::Sample;

use super::summary::DIRECTIONS;

/// The live view of a run.
#[derive(Debug)]
pub(super) struct LiveText {
    /// Whether progress may be drawn over.
    terminal: bool,
    began_ns: Option<u64>,
}

impl LiveText {
    pub(super) fn new(terminal: bool) -> Self {
        Self { terminal, began_ns: None }
    }

    pub(super) fn message(&mut self, message: &Message) -> std::io::Result<()> {
        match message {
            Message::Progress { what, done, total } => self.progress(what, *done, *total),
            Message::Ready { facts } => {
                let text = |name: &str| facts.get(name).and_then(|fact| fact.as_str()).unwrap_or("?").to_owned();
                self.clear()?;
                for note in facts.get("notes").and_then(|notes| notes.as_array()).into_iter().flatten() {
                    writeln!(stderr(), "note: {}", note.as_str().unwrap_or_default())?;
                }
                writeln!(stdout(), "{} on {} of files", text("io_engine"), text("file_size"))
            }
            Message::Sample(sample) => self.sample(sample),
            Message::Setting { settings, .. } => {
                let changes: Vec<_> = settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                writeln!(stdout(), "now {}", changes.join(", "))
            }
            Message::Refused { line, reason } => writeln!(stderr(), "refused `{line}`: {reason}"),
            Message::Error { text } => writeln!(stderr(), "error: {text}"),
            Message::Note { text, .. } | Message::ClientLost { text, .. } => writeln!(stdout(), "{text}"),
            Message::Clock { .. } | Message::Replayed { .. } | Message::Done => Ok(()),
        }
    }

    fn progress(&self, what: &str, done: u64, total: u64) -> std::io::Result<()> {
        if !self.terminal || total == 0 {
            return Ok(());
        }
        write!(stderr(), "\r{what}: {:3} %", done * 100 / total)?;
        stderr().flush()
    }

    /// Clears the progress line.
    fn clear(&self) -> std::io::Result<()> {
        if self.terminal { write!(stderr(), "\r\x1b[K") } else { Ok(()) }
    }

    fn sample(&mut self, sample: &Sample) -> std::io::Result<()> {
        let began_ns = *self.began_ns.get_or_insert(sample.t_ns - sample.length_ns);
        let seconds = sample.length_ns as f64 / 1e9;
        let mut line = format!("{:8.1} s", (sample.t_ns - began_ns) as f64 / 1e9);
        for name in DIRECTIONS {
            let Some(operation) = sample.operations.get(name) else { continue };
            let p99 = LatencyHistogram::from_base64(&operation.latency).ok().and_then(|all| all.quantile_ns(0.99));
            let iops = operation.requests as f64 / seconds;
            let mib = operation.bytes as f64 / f64::from(1 << 20) / seconds;
            line += &format!("   {name} {iops:8.0} IOPS {mib:8.1} MiB/s p99 {}", microseconds(p99));
        }
        writeln!(stdout(), "{line}")
    }
}

pub(super) fn microseconds(ns: Option<u64>) -> String {
    ns.map_or_else(|| format!("{:>8}", "-"), |ns| format!("{:8.1}", ns as f64 / 1e3))
}
