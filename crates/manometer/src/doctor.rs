//! `manometer doctor`: what this host can and cannot do for a measurement.

use std::path::PathBuf;

use comfy_table::{Cell, ColumnConstraint};
use manometer_measure::doctor::{Check, CheckStatus, Facts};
use serde_json::json;

use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::Format;

/// How wide the screen is drawn where nothing says how wide it is, and at most.
const WIDTH: u16 = 100;

/// What this host can and cannot do for a measurement in a folder, why it matters, and what changes it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  manometer doctor /mnt/nvme\n\nA file of 4 KiB is written to the folder and removed."
)]
pub struct Args {
    /// The folder that measurements would use: a device directory.
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// For people, or one JSON document for machines.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Looks at the host and tells what it found.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    if !args.dir.is_dir() {
        return Ok(wrong_request(format_args!("{} is no folder: name one that exists", args.dir.display())));
    }
    let interfaces = manometer_target::file::probe(&args.dir);
    let checks = Facts::read(&args.dir, interfaces).checks();
    args.format.print(|| json!({ "checks": checks }), || screen(&checks))?;
    Ok(ExitStatus::Done)
}

/// A line or two for each check, and how many are how.
fn screen(checks: &[Check]) -> String {
    let mut table = crate::table::table(&["", "check", "found · why it matters → what changes it"], 3);
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
    let (ok, limited, missing) = (count(CheckStatus::Ok), count(CheckStatus::Limited), count(CheckStatus::Missing));
    format!("{}\n{ok} ok, {limited} limited, {missing} missing", table.trim_fmt())
}

fn word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Ok => "ok",
        CheckStatus::Limited => "limited",
        CheckStatus::Missing => "missing",
    }
}

/// What was found, why it matters, and where it is not well, what changes it.
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
        let screen = screen(&checks);
        assert!(screen.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{screen}");
        assert!(screen.ends_with("1 ok, 1 limited, 0 missing"), "{screen}");
    }
}
