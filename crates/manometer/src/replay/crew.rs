//! The processes of a replay: one on a thread here, or several, here and on other hosts, that begin at the same moment.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::ops::RangeBounds;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Context as _;
use manometer_measure::clock::WallAnchor;
use manometer_measure::clock_offset::{ClockOffset, InStep, RoundTrip, in_step};
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::control::Controls;
use manometer_workload::protocol::{self, Control, Job, Message};
use manometer_workload::replay::{self, ReplayError};
use manometer_workload::settings::WorkloadSettings;

use super::clocks::HostClock;
use super::outcome::Outcome;

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How long after all are ready the first request is due: the word must have reached every process by then.
const BARRIER_NS: u64 = 300_000_000;
/// How often each other host is asked for its clock: the fastest answer counts.
const ROUND_TRIPS: usize = 32;
/// The host that is meant by no command.
pub(super) const HERE: &str = "here";
/// How long the others may take to end after one is lost.
const PATIENCE_NS: u64 = 10_000_000_000;

/// Why a replay came to no good end.
pub(super) struct Failed {
    /// Whether what was asked for was wrong.
    pub(super) is_wrong: bool,
    pub(super) reason: anyhow::Error,
}

impl<E: Into<anyhow::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { is_wrong: false, reason: error.into() }
    }
}

/// Becomes true with the first Ctrl-C; a second one ends the program at once.
fn interrupted() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Replays on a thread of this process; leaves the database there if it is to `keep` it.
pub(super) fn alone(job: &Job, keep: bool, outcome: &mut Outcome) -> Result<(), Failed> {
    let WorkloadSettings::Replay(settings) = &job.workload else {
        return Err(anyhow::anyhow!("this job is no replay").into());
    };
    let (controls, controlled) = channel();
    let (messages, heard) = channel::<Message>();
    let interrupted = interrupted()?;
    let finished = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let mut sink = move |message| messages.send(message).map_err(io::Error::other);
            replay::run(job, settings, &Controls::new(controlled), &mut sink, &MonotonicClock)
        });
        let mut told_to_stop = false;
        loop {
            match heard.recv_timeout(LOOK) {
                Ok(message @ Message::Ready { .. }) => {
                    outcome.hear(0, message);
                    // A worker that has ended already needs no control line.
                    let _ = controls.send(Control::Go);
                }
                Ok(message) => outcome.hear(0, message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if interrupted.load(Ordering::Relaxed) && !std::mem::replace(&mut told_to_stop, true) {
                let _ = controls.send(Control::Stop);
            }
        }
        worker.join().map_err(|_| ReplayError::Panicked)?
    });
    let finished = finished.map_err(|error| Failed { is_wrong: error.is_wrong_request(), reason: error.into() })?;
    if !keep {
        finished.remove().context("removing the data")?;
    }
    Ok(())
}

/// What one process says.
enum Told {
    /// When it came, on our clock, and what.
    Message(u64, Message),
    /// Its output has ended: it is gone, or going.
    End,
}

/// A process that replays its share; dropped, it ends.
struct Process {
    /// The command that leads to its host; nothing for this one.
    on: Option<String>,
    child: Child,
    stdin: Option<ChildStdin>,
    is_ready: bool,
    /// Whether it has told what became of its share.
    has_replayed: bool,
    has_ended: bool,
    /// Whether it ended as it should.
    is_done: bool,
    /// Its last answer about its clocks, and when that came.
    clock: Option<(u64, WallAnchor, Option<InStep>)>,
}

impl Process {
    fn start(job: &Job, on: Option<&str>, index: usize, told: Sender<(usize, Told)>) -> anyhow::Result<Self> {
        let mut command = command(on)?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("a process has no standard output")?;
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let heard_ns = MonotonicClock.now_ns();
                let message = serde_json::from_str(&line).unwrap_or_else(|error| Message::Error {
                    text: format!("it said something that makes no sense ({error}): {line}"),
                });
                if told.send((index, Told::Message(heard_ns, message))).is_err() {
                    return;
                }
            }
            // Who listened may have ended already.
            let _ = told.send((index, Told::End));
        });
        let on = on.map(str::to_owned);
        let (is_ready, has_replayed, has_ended, is_done) = (false, false, false, false);
        let mut process = Self { on, child, stdin, is_ready, has_replayed, has_ended, is_done, clock: None };
        process.say(&serde_json::to_string(job)?);
        Ok(process)
    }

    /// A process that is gone is told by the end of its output.
    fn say(&mut self, line: &str) {
        if let Some(stdin) = &mut self.stdin {
            let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stdin = None;
        if !self.has_ended {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The worker of this program, here or where the command `on` leads to.
fn command(on: Option<&str>) -> anyhow::Result<Command> {
    let mut command = match on {
        None => {
            let mut program = Command::new(std::env::current_exe().context("finding this program")?);
            // Ctrl-C at the terminal is ours to hear; the processes here are ended in order. What leads to another host
            // may have to ask for a password there.
            program.process_group(0);
            program
        }
        Some(on) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec {on} \"$@\""), "sh"]);
            shell
        }
    };
    command.arg("worker");
    Ok(command)
}

/// Replays in a process for each job, which run where `hosts` say in turn. The first prepares what all use; then the
/// others get ready, and all begin at the same moment of the clock that they share. If one is lost, the others end. The
/// first is told to stop when all others have ended: what it prepared may be its to remove, and is theirs until then.
pub(super) fn together(jobs: &[Job], hosts: &[String], outcome: &mut Outcome) -> Result<(), Failed> {
    let (sender, receiver) = channel();
    let mut crew = Crew { processes: Vec::new(), sender, receiver, interrupted: interrupted()?, outcome };
    let hosts = hosts.iter().map(|on| (on != HERE).then_some(on.as_str()));
    let hosts: Vec<Option<&str>> = if hosts.len() == 0 { vec![None] } else { hosts.collect() };
    for (index, (job, on)) in jobs.iter().zip(hosts.into_iter().cycle()).enumerate() {
        let process = Process::start(job, on, index, crew.sender.clone())?;
        crew.processes.push(process);
        if index == 0 {
            crew.listen_until(&|crew| crew.processes[0].is_ready)?;
        }
    }
    crew.listen_until(&|crew| crew.processes.iter().all(|process| process.is_ready))?;
    let clocks = crew.compare_clocks()?;
    let start_ns = MonotonicClock.now_ns() + BARRIER_NS;
    for (process, clock) in crew.processes.iter_mut().zip(&clocks) {
        let start_ns = clock.as_ref().map_or(start_ns, |clock| clock.offset.there_ns(start_ns));
        let start = Control::Set([("start_ns".to_owned(), start_ns.into())].into_iter().collect());
        process.say(&start.to_string());
    }
    crew.outcome.compared(clocks.into_iter().flatten().collect());
    crew.tell(.., &Control::Go);
    crew.listen_until(&|crew| crew.processes.iter().all(|process| process.has_ended))
}

struct Crew<'a> {
    processes: Vec<Process>,
    sender: Sender<(usize, Told)>,
    receiver: Receiver<(usize, Told)>,
    interrupted: Arc<AtomicBool>,
    outcome: &'a mut Outcome,
}

impl Crew<'_> {
    /// Tells it to those processes of `which` that have been started.
    fn tell(&mut self, which: impl RangeBounds<usize>, control: &Control) {
        let line = control.to_string();
        let numbered = self.processes.iter_mut().enumerate();
        numbered.filter(|(index, _)| which.contains(index)).for_each(|(_, process)| process.say(&line));
    }

    /// Compares the clock of each process on another host with ours; nothing for those here.
    fn compare_clocks(&mut self) -> Result<Vec<Option<HostClock>>, Failed> {
        if self.processes.iter().all(|process| process.on.is_none()) {
            return Ok(vec![None; self.processes.len()]);
        }
        let ours = in_step();
        (0..self.processes.len()).map(|index| self.compare_clock(index, ours.as_ref())).collect()
    }

    fn compare_clock(&mut self, index: usize, ours: Option<&InStep>) -> Result<Option<HostClock>, Failed> {
        let Some(on) = self.processes[index].on.clone() else { return Ok(None) };
        let (_, _, theirs) = self.ask_for_clock(index, protocol::IN_STEP)?;
        let mut trips = Vec::new();
        for _ in 0..ROUND_TRIPS {
            let asked = WallAnchor::now();
            let (heard_ns, told, _) = self.ask_for_clock(index, protocol::CLOCK)?;
            trips.push(RoundTrip { asked, told, heard_ns });
        }
        let offset = ClockOffset::of(&trips, ours, theirs.as_ref());
        let in_step_by = theirs.map(|theirs| theirs.by);
        Ok(offset.map(|offset| HostClock { process: index + 1, on, offset, in_step_by }))
    }

    fn ask_for_clock(&mut self, index: usize, line: &str) -> Result<(u64, WallAnchor, Option<InStep>), Failed> {
        self.processes[index].clock = None;
        self.processes[index].say(line);
        self.listen_until(&|crew| crew.processes[index].clock.is_some())?;
        let told = self.processes[index].clock.take();
        Ok(told.context("a process did not tell its clock")?)
    }

    /// Takes in what the processes say until `enough`; when one is lost, has the others end first.
    fn listen_until(&mut self, enough: &dyn Fn(&Self) -> bool) -> Result<(), Failed> {
        let (mut lost, mut deadline_ns, mut told_to_stop, mut told_first) = (None, u64::MAX, false, false);
        loop {
            let all_ended = self.processes.iter().all(|process| process.has_ended);
            let now_ns = MonotonicClock.now_ns();
            if lost.is_none() && enough(self) {
                return Ok(());
            }
            if all_ended || now_ns > deadline_ns {
                return Err(lost.unwrap_or_else(|| anyhow::anyhow!("interrupted before the first request").into()));
            }
            let heard = self.receiver.recv_timeout(LOOK);
            if let Some(failed) = heard.ok().and_then(|(index, told)| self.hear(index, told)) {
                lost.get_or_insert(failed);
            }
            let stop = lost.is_some() || self.interrupted.load(Ordering::Relaxed);
            if stop && !std::mem::replace(&mut told_to_stop, true) {
                deadline_ns = now_ns + PATIENCE_NS;
                self.tell(1.., &Control::Stop);
            }
            let is_last = self.processes.iter().skip(1).all(|process| process.has_ended);
            let is_over = stop || self.processes.first().is_some_and(|process| process.has_replayed);
            if is_last && is_over && !std::mem::replace(&mut told_first, true) {
                // It may have much to remove.
                deadline_ns = deadline_ns.max(now_ns.saturating_add(PATIENCE_NS));
                self.tell(..1, &Control::Stop);
            }
        }
    }

    /// Takes in what process `index` says; tells why it is lost, if it is.
    fn hear(&mut self, index: usize, told: Told) -> Option<Failed> {
        let process = &mut self.processes[index];
        let lost = |reason: String| Some(anyhow::anyhow!("process {} of the replay {reason}", index + 1).into());
        match told {
            Told::Message(_, Message::Done) => process.is_done = true,
            Told::Message(_, Message::Error { text }) => return lost(format!("failed: {text}")),
            Told::Message(heard_ns, Message::Clock { now, in_step }) => process.clock = Some((heard_ns, now, in_step)),
            Told::Message(_, message) => {
                process.is_ready |= matches!(message, Message::Ready { .. });
                process.has_replayed |= matches!(message, Message::Replayed { .. });
                self.outcome.hear(index, message);
            }
            Told::End => {
                process.has_ended = true;
                let status = process.child.wait();
                if !process.is_done {
                    return lost(format!(
                        "was lost: {}",
                        status.map_or_else(|error| error.to_string(), |s| s.to_string())
                    ));
                }
            }
        }
        None
    }
}
