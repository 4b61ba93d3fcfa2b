//! `manometer trace characterise`: the character of a trace.

mod text;

use clap::ValueEnum;
use manometer_measure::Span;
use manometer_trace::TraceError;
use manometer_trace::character::model::CapturePoint;
use manometer_trace::character::{Character, CharacterOptions, Report};
use serde_json::{Value, json};

use super::input::{self, Parts};
use crate::exit_status::ExitStatus;
use crate::output::Format;

/// Characterise a trace: popularity, reuse distances, working set, burstiness, sessions, and how to replay it.
///
/// Reads the trace once. Up to four million distinct keys, results are exact; above, keys are sampled, and the output says
/// so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace characterise cluster52.csv.zst\n  \
    manometer trace characterise web.csv --taken-at proxy --latency 2ms --format json")]
pub struct Args {
    #[command(flatten)]
    input: Parts,
    /// Where the trace was taken; this decides the replay model.
    #[arg(long, value_enum)]
    taken_at: Option<CaptureArg>,
    /// Time without a request after which a client's session ends.
    #[arg(long, value_name = "SPAN", default_value = "30min")]
    session_gap: Span,
    /// Latency of the store, for comparison with the times between requests of a client.
    #[arg(long, value_name = "SPAN")]
    latency: Option<Span>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CaptureArg {
    /// At the store, behind a proxy or a layer of servers.
    Store,
    /// At a proxy before the store.
    Proxy,
    /// At the clients, or at a store that they access directly.
    Clients,
}

/// Reads the trace once and prints the result.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut trace = match args.input.open(false) {
        Ok(trace) => trace,
        Err(error) => return input::refuse(&error),
    };
    let (mut character, mut batch) = (Character::new(options(args)), Vec::new());
    let damage = loop {
        match trace.reader.read(&mut batch) {
            Ok(0) => break None,
            Ok(_) => character.add(&batch),
            Err(error) => break Some(error),
        }
    };
    let report = character.report();
    args.format.print(
        || document(trace.format.name, &report, damage.as_ref()),
        || text::text(&args.input.name(), trace.format.name, &report),
    )?;
    Ok(match damage {
        None => ExitStatus::Done,
        Some(error) => {
            input::warn_of_damage(&args.input.name(), report.requests, &error);
            ExitStatus::Failed
        }
    })
}

fn options(args: &Args) -> CharacterOptions {
    CharacterOptions {
        session_gap_ns: args.session_gap.nanoseconds(),
        latency_ns: args.latency.map(Span::nanoseconds),
        taken_at: args.taken_at.map(|place| match place {
            CaptureArg::Store => CapturePoint::Store,
            CaptureArg::Proxy => CapturePoint::Proxy,
            CaptureArg::Clients => CapturePoint::Clients,
        }),
        ..CharacterOptions::default()
    }
}

fn document(format: &str, report: &Report, damage: Option<&TraceError>) -> Value {
    let mut document = json!(report);
    document["format"] = json!(format);
    document["damage"] = input::damage(damage);
    document
}
