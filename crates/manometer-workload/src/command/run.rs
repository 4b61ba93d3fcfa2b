//! Runs an external program: prepares its directory, expands its words, and starts it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_target::engine::directory::{DatabaseDirectory, DatabaseManifest};
use serde_json::{Map, Value, json};

use super::output_tail::OutputTail;
use super::parser::Parser;
use super::plan::{file_name, pacing_option, parser_of, preparation, validate, words_of};
use super::program::{NextLine, Program};
use super::workload::CommandWorkload;
use super::{CommandError, CommandSettings};
use crate::error::WorkloadError;
use crate::interface::{Driver, PreparedWorkload, WorkloadContext};
use crate::setting_error::SettingError;

/// How long output of the preparing program is read between two polls of the driver, in nanoseconds.
const READ_NS: u64 = 20_000_000;

/// Programs that report their version with `--version`; others might start their work.
const PROGRAMS_WITH_VERSION: [&str; 6] =
    ["fio", "db_bench", "redis-benchmark", "memtier_benchmark", "sysbench", "java"];

/// Runs the program at `place` until `driver` stops it.
///
/// # Errors
/// The settings are invalid here, the directory or the program is not available, or the program failed.
pub fn run(
    place: &WorkloadContext,
    settings: &CommandSettings,
    interval_ms: u64,
    driver: &mut dyn Driver,
) -> Result<(), WorkloadError> {
    validate(settings).map_err(CommandError::from)?;
    let marker = marker(place.seed, settings).map_err(CommandError::from)?;
    let mut folder = DatabaseDirectory::prepare(&place.folder(), marker, place.existing).map_err(CommandError::from)?;
    let directory = absolute(&folder.database());
    let filled = |words: &[String]| fill(words, place.seed, interval_ms, &directory);
    let words = words_of("command", &settings.command).map_err(CommandError::from)?;
    let prepare = preparation(settings, &words).map_err(CommandError::from)?;
    let words = filled(&words);
    if !folder.is_reused() {
        if let Some(prepare) = prepare
            && prepare_with(&filled(&prepare), settings, &directory, driver)?.is_break()
        {
            return Ok(());
        }
        folder.set_loaded().map_err(CommandError::from)?;
    }
    let parser = parser_of(settings).map_err(CommandError::from)?;
    let facts = facts(settings, &words, parser.as_ref(), folder.is_reused());
    let mut workload = CommandWorkload::new(settings, words, &directory, parser.operations());
    driver.drive(PreparedWorkload { facts, state: None, script: Vec::new() }, &mut workload)
}

/// The marker of the program's directory: what its content follows from.
fn marker(seed: u64, settings: &CommandSettings) -> Result<DatabaseManifest, SettingError> {
    let words = words_of("command", &settings.command)?;
    Ok(DatabaseManifest {
        engine: file_name(&words[0]).to_owned(),
        engine_version: String::new(),
        options: json!(settings.prepare),
        records: 0,
        form: "of an external program".to_owned(),
        value_bytes: 0,
        load: "by the program".to_owned(),
        seed,
        loaded: false,
        changed: false,
        made_at_unix_ns: 0,
    })
}

/// The seed as a positive number of 31 bits, which every program accepts.
fn program_seed(seed: u64) -> u64 {
    (seed & 0x7fff_ffff).max(1)
}

/// An absolute path: the program runs in its own directory, where a relative path would point elsewhere.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// `words` with their placeholders replaced.
fn fill(words: &[String], seed: u64, interval_ms: u64, directory: &Path) -> Vec<String> {
    let values = [
        ("{directory}", directory.display().to_string()),
        ("{seed}", program_seed(seed).to_string()),
        ("{interval_ms}", interval_ms.to_string()),
    ];
    let filled = |word: &String| values.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
    let mut filled: Vec<String> = words.iter().map(filled).collect();
    if filled[0].contains('/') {
        filled[0] = absolute(Path::new(&filled[0])).display().to_string();
    }
    filled
}

/// Runs the `prepare` command to its end, or until the driver stops it.
fn prepare_with(
    words: &[String],
    settings: &CommandSettings,
    directory: &Path,
    driver: &mut dyn Driver,
) -> Result<ControlFlow<()>, CommandError> {
    let activity = format!("preparing with {}", words[0]);
    let program = Program::start(words, &settings.environment, directory)?;
    let mut last = OutputTail::default();
    while !program.has_ended() {
        if driver.progress(&activity, 0, 1).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        match program.next_line(READ_NS) {
            NextLine::Line(line) => last.push(&line),
            NextLine::Nothing => {}
            NextLine::End => MonotonicClock.sleep(READ_NS),
        }
    }
    let failed = |status: String, last: &OutputTail| CommandError::Prepare {
        program: words[0].clone(),
        status,
        last: last.text(),
    };
    match program.ended(|line| last.push(&line)) {
        Ok(status) if status.success() => Ok(ControlFlow::Continue(())),
        Ok(status) => Err(failed(status.to_string(), &last)),
        Err(error) => Err(failed(error.to_string(), &last)),
    }
}

fn facts(settings: &CommandSettings, words: &[String], parser: &dyn Parser, reused: bool) -> Settings {
    let state: Map<String, Value> = parser.state().into_iter().map(|(name, unit)| (name, json!(unit))).collect();
    let mut facts = Map::from_iter([
        ("command".to_owned(), json!(words)),
        ("parser".to_owned(), json!(settings.parser)),
        ("version".to_owned(), json!(version(words))),
        ("reused".to_owned(), json!(reused)),
        ("uncounted".to_owned(), json!(parser.uncounted())),
    ]);
    if let Some(option) = pacing_option(settings, words) {
        facts.insert("paced_by".to_owned(), json!(option));
    }
    if !state.is_empty() {
        facts.insert("state_units".to_owned(), state.into());
    }
    facts
}

/// The first line of the program's `--version` output.
fn version(words: &[String]) -> Option<String> {
    let program = PROGRAMS_WITH_VERSION.contains(&file_name(&words[0])).then_some(&words[0])?;
    let latest = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&latest.stdout).into_owned();
    text.lines().next().filter(|_| latest.status.success()).map(str::to_owned)
}
