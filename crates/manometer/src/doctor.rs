//! `manometer doctor`: checks of the host.

use std::path::PathBuf;

use comfy_table::{Cell, ColumnConstraint};
use manometer_experiment::prepare::ledger::LedgerEntries;
use manometer_measure::doctor::{Check, CheckStatus, Facts, Verdict};
use manometer_measure::host::environment;
use serde_json::json;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::Format;

/// The width of the output without a terminal, and its maximum.
const WIDTH: u16 = 100;

/// Check what this host can measure in a directory, why each check matters, and how to fix it.
///
/// At the end it says what this host measures soundly, what with caveats, and what not.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  manometer doctor /mnt/nvme\n\nIt writes a file of 4 KiB to the directory and removes it."
)]
pub struct Args {
    /// Directory of the measurements: a device directory.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Checks the host and prints the results.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if !args.dir.is_dir() {
        return Ok(wrong_request(format_args!("{} is not a directory: name one that exists", args.dir.display())));
    }
    let interfaces = manometer_target::file::probe(&args.dir);
    let checks = Facts::read(&args.dir, interfaces).checks();
    let verdict = Verdict::of(&checks);
    // A damaged ledger is an error when a run opens it.
    let written_bytes = LedgerEntries::read(&args.dir).map(|ledger| ledger.written_bytes()).ok();
    let document = || {
        let environment = environment::describe(&args.dir);
        json!({
            "checks": checks,
            "verdict": { "text": verdict.text(), "can": verdict },
            "environment": environment,
            "written_bytes": written_bytes,
        })
    };
    args.format.print(document, || screen(&checks, &verdict))?;
    Ok(ExitStatus::Done)
}

/// A row for each check, the count of each status, and the verdict.
fn screen(checks: &[Check], verdict: &Verdict) -> String {
    let mut table = crate::table::table(&["", "check", "result · why it matters → how to fix it"], 3);
    let width = table.width().unwrap_or(WIDTH).min(WIDTH);
    table.set_width(width);
    for check in checks {
        table.add_row([Cell::new(word(check.status)), Cell::new(check.id), Cell::new(words(check))]);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if index < 2 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let all = [CheckStatus::Ok, CheckStatus::Limited, CheckStatus::Missing, CheckStatus::NotApplicable];
    let counts = all.map(|status| format!("{} {}", count(status), word(status))).join(", ");
    format!("{}\n{counts}\n\n{}", table.trim_fmt(), wrapped(&verdict.text()))
}

/// The lines of `text`, none wider than the output without a terminal.
fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > usize::from(WIDTH) {
                lines.push(std::mem::take(&mut line));
            }
            let space = if line.is_empty() { "" } else { " " };
            line += &format!("{space}{word}");
        }
        lines.push(line);
    }
    lines.join("\n")
}

fn word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Ok => "ok",
        CheckStatus::Limited => "limited",
        CheckStatus::Missing => "missing",
        CheckStatus::NotApplicable => "not applicable",
    }
}

/// The result, why it matters and, unless it is ok, how to fix it.
fn words(check: &Check) -> String {
    let found = format!("{} · {}", check.text, check.why);
    match check.status {
        CheckStatus::Limited | CheckStatus::Missing if !check.remedy.is_empty() => {
            format!("{found} → {}", check.remedy)
        }
        _ => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: CheckStatus, text: &str, remedy: &str) -> Check {
        Check { id: "swap", status, text: text.to_owned(), why: "it matters", remedy: remedy.to_owned() }
    }

    #[test]
    fn a_remedy_is_shown_only_where_it_is_needed() {
        assert_eq!(words(&check(CheckStatus::Ok, "none", "swapon")), "none · it matters");
        assert_eq!(words(&check(CheckStatus::Limited, "2 GiB", "swapoff -a")), "2 GiB · it matters → swapoff -a");
        assert_eq!(words(&check(CheckStatus::Missing, "none", "")), "none · it matters");
    }

    #[test]
    fn the_screen_is_no_wider_than_it_says_and_counts() {
        let long = "mq-deadline ".repeat(20);
        let checks = [check(CheckStatus::Ok, &long, ""), check(CheckStatus::Limited, "2 GiB", "swapoff -a")];
        let screen = screen(&checks, &Verdict::of(&checks));
        assert!(screen.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{screen}");
        assert!(
            screen.contains("\n1 ok, 1 limited, 0 missing, 0 not applicable\n\nThis host measures soundly"),
            "{screen}"
        );
    }
}
