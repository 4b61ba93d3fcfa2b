//! What people see: a line each interval, and a table at the end.

use std::io::{Write as _, stderr, stdout};

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use manometer_measure::LatencyHistogram;
use manometer_measure::histogram::PERCENTILES;
use manometer_session::protocol::Message;
use manometer_workload::sample::Sample;

use super::summary::{DIRECTIONS, Summary};
use crate::replay::outcome::fidelity_text;

/// Shows a run while it runs.
#[derive(Debug)]
pub(super) struct Show {
    /// Whether a line may be drawn over.
    terminal: bool,
    began_ns: Option<u64>,
}

impl Show {
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
            Message::Note { text, .. } => writeln!(stdout(), "{text}"),
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

    /// Takes the progress line away.
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

/// The result as a table.
pub(super) fn table(summary: &Summary) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    let percentiles = PERCENTILES.iter().map(|(name, _)| format!("{name} µs"));
    let header = ["", "requests", "IOPS", "MiB/s"].map(str::to_owned).into_iter().chain(percentiles);
    table.set_header(header.chain(["max µs".to_owned(), "retries".to_owned()]));
    for (name, direction) in summary.directions() {
        let mut row = vec![
            name.to_owned(),
            direction.requests.to_string(),
            format!("{:.0}", direction.requests as f64 / summary.seconds),
            format!("{:.1}", direction.mib_per_s(summary.seconds)),
        ];
        row.extend(PERCENTILES.iter().map(|(_, quantile)| microseconds(direction.latency.quantile_ns(*quantile))));
        row.push(microseconds(direction.latency.max_ns()));
        row.push(direction.retries.to_string());
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let cpu = summary.cpu_s_per_million().map_or("-".to_owned(), |cpu| format!("{cpu:.2}"));
    let interrupted = if summary.interrupted { ", interrupted" } else { "" };
    let (first, fidelity) = summary.fidelity().map_or_else(Default::default, |(fidelity, findings)| {
        let first: String = findings.iter().map(|finding| format!("{}\n\n", finding.text)).collect();
        (first, fidelity_text(&fidelity))
    });
    format!(
        "{first}{table}\n{:.2} s measured{interrupted}; {cpu} CPU seconds per million requests{fidelity}",
        summary.seconds
    )
}

fn microseconds(ns: Option<u64>) -> String {
    ns.map_or_else(|| format!("{:>8}", "-"), |ns| format!("{:8.1}", ns as f64 / 1e3))
}
