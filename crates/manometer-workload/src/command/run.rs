//! Prepares, starts, listens, ends.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use manometer_measure::plan::Settings;
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_target::engine::directory::{DatabaseDirectory, Marker};
use serde_json::{Map, Value, json};

use super::parser::Parser;
use super::plan::{file_name, parser_of, validate, words_of};
use super::program::{Heard, Line, Program};
use super::reports::sample;
use super::{AtEnd, CommandError, CommandSettings};
use crate::control::{Controls, Sink};
use crate::protocol::{Control, Job, Message};
use crate::settings::SettingError;

/// How long the program is listened to before the controls are.
const LISTEN_NS: u64 = 20_000_000;

/// How many of its last lines an error quotes.
const QUOTED_LINES: usize = 8;

/// Programs that tell their version when asked; another might begin its work.
const TELL_VERSION: [&str; 6] = ["fio", "db_bench", "redis-benchmark", "memtier_benchmark", "sysbench", "java"];

/// Runs the job until it is told to stop. That it is done, or why it failed, is for the caller to say.
///
/// # Errors
/// The job makes no sense here, its folder or its program cannot be had, or the program failed.
pub fn run(
    job: &Job,
    settings: &CommandSettings,
    controls: &Controls,
    sink: &mut dyn Sink,
) -> Result<(), CommandError> {
    validate(settings)?;
    let mut folder = DatabaseDirectory::prepare(&job.directory.join(&job.name), marker(job, settings)?, job.existing)?;
    let here = absolute(&folder.database());
    let words = fill(&words_of("command", &settings.command)?, job, &here);
    let mut heard = VecDeque::new();
    if !folder.is_reused() {
        if let Some(prepare) = &settings.prepare {
            let words = fill(&words_of("prepare", prepare)?, job, &here);
            let prepared = prepare_with(&words, settings, &here, controls, sink)?;
            let Some(before) = prepared else { return Ok(()) };
            heard = before;
        }
        folder.set_loaded()?;
    }
    let parser = parser_of(settings)?;
    let facts = facts(settings, &words, parser.as_ref(), folder.is_reused());
    tell(sink, Message::Ready { facts })?;
    let operations = parser.operations();
    Runner { settings, words, here: &here, operations, sink, starts: 0 }.run(controls, heard)
}

/// What the content of the program's folder follows from.
fn marker(job: &Job, settings: &CommandSettings) -> Result<Marker, SettingError> {
    let words = words_of("command", &settings.command)?;
    Ok(Marker {
        engine: file_name(&words[0]).to_owned(),
        engine_version: String::new(),
        options: json!(settings.prepare),
        records: 0,
        form: "of an external program".to_owned(),
        value_bytes: 0,
        load: "by the program".to_owned(),
        seed: job.seed,
        loaded: false,
        changed: false,
        made_at_unix_ns: 0,
    })
}

/// The seed as any program takes it: positive, of 31 bits.
fn seed(seed: u64) -> u64 {
    (seed & 0x7fff_ffff).max(1)
}

/// The program is started in its own folder, where a relative path would lead elsewhere.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn fill(words: &[String], job: &Job, here: &Path) -> Vec<String> {
    let values = [
        ("{directory}", here.display().to_string()),
        ("{seed}", seed(job.seed).to_string()),
        ("{interval_ms}", job.interval_ms.to_string()),
    ];
    let filled = |word: &String| values.iter().fold(word.clone(), |word, (name, value)| word.replace(name, value));
    let mut filled: Vec<String> = words.iter().map(filled).collect();
    if filled[0].contains('/') {
        filled[0] = absolute(Path::new(&filled[0])).display().to_string();
    }
    filled
}

/// Runs the preparing command to its end; the control lines that came meanwhile, or nothing when told to
/// stop.
fn prepare_with(
    words: &[String],
    settings: &CommandSettings,
    here: &Path,
    controls: &Controls,
    sink: &mut dyn Sink,
) -> Result<Option<VecDeque<Control>>, CommandError> {
    tell(sink, Message::Progress { what: format!("preparing with {}", words[0]), done: 0, total: 1 })?;
    let program = start(words, settings, here)?;
    let mut last = LastLines::default();
    let mut heard = VecDeque::new();
    while !program.has_ended() {
        match controls.poll() {
            Some(Control::Stop) => return Ok(None),
            other => heard.extend(other),
        }
        match program.hear(LISTEN_NS) {
            Heard::Line(line) => last.push(&line),
            Heard::Nothing => {}
            Heard::End => MonotonicClock.sleep(LISTEN_NS),
        }
    }
    let failed = |status: String, last: &LastLines| CommandError::Prepare {
        program: words[0].clone(),
        status,
        last: last.text(),
    };
    match program.ended(|line| last.push(&line)) {
        Ok(status) if status.success() => Ok(Some(heard)),
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
    if !state.is_empty() {
        facts.insert("state_units".to_owned(), state.into());
    }
    facts
}

/// The first line that the program says of its version.
fn version(words: &[String]) -> Option<String> {
    let program = TELL_VERSION.contains(&file_name(&words[0])).then_some(&words[0])?;
    let told = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    text.lines().next().filter(|_| told.status.success()).map(str::to_owned)
}

fn start(words: &[String], settings: &CommandSettings, here: &Path) -> Result<Program, CommandError> {
    Program::start(words, &settings.environment, here)
        .map_err(|source| CommandError::Start { program: words[0].clone(), source })
}

fn tell(sink: &mut dyn Sink, message: Message) -> Result<(), CommandError> {
    sink.send(message).map_err(CommandError::Unheard)
}

/// What a program said last.
#[derive(Debug, Default)]
struct LastLines(VecDeque<String>);

impl LastLines {
    fn push(&mut self, line: &Line) {
        if self.0.len() == QUOTED_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line.text.clone());
    }

    fn text(&self) -> String {
        if self.0.is_empty() { "(nothing)".to_owned() } else { Vec::from(self.0.clone()).join("\n") }
    }
}

/// What one start of the program has told so far.
struct Listener<'a> {
    parser: Box<dyn Parser>,
    operations: &'a [String],
    /// When the last report arrived, or the program was started.
    since_ns: u64,
    reports: u64,
    lines: u64,
    not_understood: u64,
    last: LastLines,
}

impl Listener<'_> {
    /// The messages that come of a line.
    fn hear(&mut self, line: &Line) -> Vec<Message> {
        self.lines += 1;
        self.last.push(line);
        let Some(reports) = self.parser.line(&line.text) else {
            self.not_understood += 1;
            if line.is_error {
                tracing::info!("{}", line.text);
            } else {
                tracing::debug!("not understood: {}", line.text);
            }
            return Vec::new();
        };
        let mut samples = Vec::new();
        for report in reports {
            self.reports += 1;
            let sample = sample(&report, self.operations, line.t_ns, self.since_ns);
            // A report of nothing but numbers speaks of no stretch of time.
            self.since_ns = if report.length_s == Some(0.0) { self.since_ns } else { line.t_ns };
            samples.push(Message::Sample(sample));
        }
        samples
    }
}

struct Runner<'a> {
    settings: &'a CommandSettings,
    words: Vec<String>,
    here: &'a Path,
    operations: Vec<String>,
    sink: &'a mut dyn Sink,
    starts: u64,
}

/// Why a program no longer runs.
enum Over {
    /// It was told to pause.
    Paused,
    /// It was told to stop.
    Stopped,
    /// It ended by itself and shall not run again before the next `go`.
    Rests,
    /// It ended by itself and shall be started again.
    Again,
}

impl Runner<'_> {
    fn run(&mut self, controls: &Controls, mut heard: VecDeque<Control>) -> Result<(), CommandError> {
        loop {
            match heard.pop_front().unwrap_or_else(|| controls.next()) {
                Control::Go => {
                    let mut over = self.once(controls)?;
                    while matches!(over, Over::Again) {
                        over = self.once(controls)?;
                    }
                    if matches!(over, Over::Stopped) {
                        return Ok(());
                    }
                }
                Control::Wait => {}
                Control::Set(settings) => self.refuse(Control::Set(settings))?,
                Control::Stop => return Ok(()),
            }
        }
    }

    /// Runs the program until it ends or is told to.
    fn once(&mut self, controls: &Controls) -> Result<Over, CommandError> {
        let program = start(&self.words, self.settings, self.here)?;
        self.starts += 1;
        self.note(format!("`{}` was started (process {}, start {})", self.words[0], program.pid(), self.starts))?;
        let operations = self.operations.clone();
        let mut listener = Listener {
            parser: parser_of(self.settings)?,
            operations: &operations,
            since_ns: program.began_ns,
            reports: 0,
            lines: 0,
            not_understood: 0,
            last: LastLines::default(),
        };
        while !program.has_ended() {
            match controls.poll() {
                Some(Control::Stop) => return self.end(program, &mut listener, Over::Stopped),
                Some(Control::Wait) => return self.end(program, &mut listener, Over::Paused),
                Some(Control::Set(settings)) => self.refuse(Control::Set(settings))?,
                Some(Control::Go) | None => {}
            }
            match program.hear(LISTEN_NS) {
                Heard::Line(line) => self.send(listener.hear(&line))?,
                Heard::Nothing => {}
                Heard::End => MonotonicClock.sleep(LISTEN_NS),
            }
            let silent_ns = MonotonicClock.now_ns().saturating_sub(program.began_ns);
            if listener.reports == 0 && silent_ns > self.settings.patience.nanoseconds() {
                return Err(self.not_understood(&listener));
            }
        }
        self.ended(program, &mut listener)
    }

    /// Ends the program and passes on what it still tells.
    fn end(&mut self, program: Program, listener: &mut Listener<'_>, over: Over) -> Result<Over, CommandError> {
        let mut messages = Vec::new();
        if let Err(error) = program.end(|line| messages.extend(listener.hear(&line))) {
            tracing::warn!("`{}` cannot be waited for: {error}", self.words[0]);
        }
        self.send(messages)?;
        if listener.not_understood > 0 {
            tracing::info!("{} of {} lines were not understood", listener.not_understood, listener.lines);
        }
        Ok(over)
    }

    /// Decides what follows when the program has ended by itself.
    fn ended(&mut self, program: Program, listener: &mut Listener<'_>) -> Result<Over, CommandError> {
        let mut messages = Vec::new();
        let status = program.ended(|line| messages.extend(listener.hear(&line)));
        self.send(messages)?;
        let (success, status) = match status {
            Ok(status) => (status.success(), status.to_string()),
            Err(error) => (false, error.to_string()),
        };
        if !success || self.settings.at_end == AtEnd::Fail {
            let (program, last) = (self.words[0].clone(), listener.last.text());
            return Err(CommandError::Ended { program, status, last });
        }
        if listener.reports == 0 {
            return Err(self.not_understood(listener));
        }
        self.note(format!("`{}` ended by itself with {status}", self.words[0]))?;
        Ok(if self.settings.at_end == AtEnd::Restart { Over::Again } else { Over::Rests })
    }

    fn not_understood(&self, listener: &Listener<'_>) -> CommandError {
        CommandError::NotUnderstood {
            parser: json!(self.settings.parser).as_str().unwrap_or_default().to_owned(),
            program: self.words[0].clone(),
            lines: listener.lines,
            not_understood: listener.not_understood,
            last: listener.last.text(),
        }
    }

    fn refuse(&mut self, control: Control) -> Result<(), CommandError> {
        let reason = "the settings of an external program cannot change while it runs".to_owned();
        tell(self.sink, Message::Refused { line: control.to_string(), reason })
    }

    fn note(&mut self, text: String) -> Result<(), CommandError> {
        tell(self.sink, Message::Note { t_ns: MonotonicClock.now_ns(), text })
    }

    fn send(&mut self, messages: Vec<Message>) -> Result<(), CommandError> {
        messages.into_iter().try_for_each(|message| tell(self.sink, message))
    }
}
