//! `manometer trace info`: the totals of a trace.

use manometer_measure::human;
use manometer_trace::summary::{SizeTotals, Totals};
use manometer_trace::{TraceError, TraceSummary};
use serde_json::{Value, json};

use super::input::{self, Input};
use crate::exit_status::ExitStatus;
use crate::output::Format;

/// Print the totals of a trace: requests, keys, span, footprint, operation mix, sizes, clients.
///
/// A damaged trace is read up to its last good record; the exit status is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer trace info cluster52.csv.zst\n  \
    manometer trace info log.txt --columns 'time_ms=0,key=2,op=4' --delimiter ';'")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads the trace once and prints the result.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut trace = match args.input.open_keeping(false) {
        Ok(trace) => trace,
        Err(error) => return input::refuse(&error),
    };
    let (summary, damage) = TraceSummary::read(trace.reader.as_mut());
    let totals = summary.totals();
    args.format.print(
        || document(trace.format.name, &totals, trace.reader.skipped(), damage.as_ref()),
        || text(&args.input.name(), trace.format.name, &totals),
    )?;
    Ok(match damage {
        None => ExitStatus::Done,
        Some(error) => {
            input::warn_of_damage(&args.input.name(), totals.requests, &error);
            ExitStatus::Failed
        }
    })
}

fn document(name: &str, totals: &Totals, skipped: u64, damage: Option<&TraceError>) -> Value {
    let mut document = json!(totals);
    document["format"] = json!(name);
    document["skipped"] = json!(skipped);
    document["damage"] = input::damage(damage);
    document
}

fn text(name: &str, format: &str, totals: &Totals) -> String {
    let keys = error_text(totals, "keys", totals.keys);
    let mut lines = vec![format!("{name}: {format}, {} requests for {} keys{keys}", totals.requests, totals.keys)];
    lines.extend(span_lines(totals));
    lines.push(format!("footprint   {}", footprint(totals)));
    let mix = totals.operations.iter().map(|(operation, count)| {
        format!("{operation} {:.2} % ({count})", 100.0 * *count as f64 / totals.requests.max(1) as f64)
    });
    lines.push(format!("mix         {}", mix.collect::<Vec<_>>().join(", ")));
    for (what, sizes) in [("key size", &totals.key_size), ("value size", &totals.value_size)] {
        lines.extend(sizes.as_ref().map(|sizes| format!("{what:<12}{}", size_text(sizes))));
    }
    lines.extend(
        totals.clients.map(|clients| format!("clients     {clients}{}", error_text(totals, "clients", clients))),
    );
    lines.extend(totals.failed.map(|failed| format!("failed      {failed}")));
    lines.join("\n")
}

/// The standard error of an estimate.
fn error_text(totals: &Totals, what: &str, number: u64) -> String {
    let error = totals.standard_errors.get(what).map(|error| 100.0 * error / number.max(1) as f64);
    error.map(|percent| format!(", an estimate ± {percent:.2} %")).unwrap_or_default()
}

fn span_lines(totals: &Totals) -> Vec<String> {
    let Some(span_s) = totals.span_s else { return vec!["span        unknown: the trace has no times".to_owned()] };
    let mut lines = vec![format!("span        {span_s:.6} s")];
    if totals.times_backward > 0 {
        lines.push(format!("            {} times are earlier than the one before", totals.times_backward));
    }
    if totals.times_absent > 0 {
        lines.push(format!("            {} requests have no time", totals.times_absent));
    }
    lines
}

fn footprint(totals: &Totals) -> String {
    match totals.footprint_bytes {
        Some(bytes) => format!("{} ({bytes} B{})", human::bytes(bytes), error_text(totals, "footprint_bytes", bytes)),
        None => format!("unknown: {}", totals.footprint_reason.as_deref().unwrap_or("the trace has no sizes")),
    }
}

fn size_text(sizes: &SizeTotals) -> String {
    let SizeTotals { min, mean, max, sum, samples } = sizes;
    format!("{min} to {max} B, mean {mean:.1} B, sum {} over {samples} requests", human::bytes(*sum as u64))
}

#[cfg(test)]
mod tests {
    use manometer_trace::{Record, TraceOperation};

    use super::*;

    #[test]
    fn estimates_and_unknown_values_are_marked() {
        let mut summary = TraceSummary::default();
        summary.add(&[Record { value_size: Some(10), ..Record::new(TraceOperation::Get, 1) }]);
        let mut totals = summary.totals();
        assert!(text("t", "csv", &totals).contains("for 1 keys\n") && text("t", "csv", &totals).contains("(10 B)"));
        (totals.keys, totals.footprint_bytes) = (1_000, Some(5_000));
        totals.standard_errors = [("keys", 2.5), ("footprint_bytes", 100.0)].into();
        let shown = text("t", "csv", &totals);
        assert!(shown.contains("1000 keys, an estimate ± 0.25 %") && shown.contains("(5000 B, an estimate ± 2.00 %)"));
        (totals.footprint_bytes, totals.footprint_reason) = (None, Some("too far".to_owned()));
        assert!(text("t", "csv", &totals).contains("footprint   unknown: too far"));
    }
}
