//! The processes of a replay: one on a thread here, or several that begin at the same moment.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::Context as _;
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::control::Controls;
use manometer_workload::protocol::{Control, Job, Message};
use manometer_workload::replay::{self, ReplayError};
use manometer_workload::settings::WorkloadSettings;

use super::outcome::Outcome;

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How long after all are ready the first request is due: the word must have reached every process by then.
const BARRIER_NS: u64 = 300_000_000;
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
        finished.database.map_or(Ok(()), |database| database.remove()).context("removing the database")?;
        finished.elsewhere.map_or(Ok(()), |left| left.remove()).context("emptying the server")?;
    }
    Ok(())
}

/// What one process says.
enum Told {
    Message(Message),
    /// Its output has ended: it is gone, or going.
    End,
}

/// A process that replays its share; dropped, it ends.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    is_ready: bool,
    has_ended: bool,
    /// Whether it ended as it should.
    is_done: bool,
}

impl Process {
    fn start(job: &Job, index: usize, told: Sender<(usize, Told)>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("finding this program")?;
        let mut child = Command::new(&program)
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("a process has no standard output")?;
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|error| Message::Error {
                    text: format!("it said something that makes no sense ({error}): {line}"),
                });
                if told.send((index, Told::Message(message))).is_err() {
                    return;
                }
            }
            // Who listened may have ended already.
            let _ = told.send((index, Told::End));
        });
        let mut process = Self { child, stdin, is_ready: false, has_ended: false, is_done: false };
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

/// Replays in a process for each job. The first prepares what all use; then the others get ready, and all begin at
/// the same moment of the clock that they share. If one is lost, the others end.
pub(super) fn together(jobs: &[Job], outcome: &mut Outcome) -> Result<(), Failed> {
    let mut crew = Crew { processes: Vec::new(), heard: channel(), interrupted: interrupted()?, outcome };
    for (index, job) in jobs.iter().enumerate() {
        let process = Process::start(job, index, crew.heard.0.clone())?;
        crew.processes.push(process);
        if index == 0 {
            crew.listen_until(&|crew| crew.processes[0].is_ready)?;
        }
    }
    crew.listen_until(&|crew| crew.processes.iter().all(|process| process.is_ready))?;
    let start_ns = MonotonicClock.now_ns() + BARRIER_NS;
    let start = Control::Set([("start_ns".to_owned(), start_ns.into())].into_iter().collect());
    crew.tell_all(&start);
    crew.tell_all(&Control::Go);
    crew.listen_until(&|crew| crew.processes.iter().all(|process| process.has_ended))
}

struct Crew<'a> {
    processes: Vec<Process>,
    heard: (Sender<(usize, Told)>, Receiver<(usize, Told)>),
    interrupted: Arc<AtomicBool>,
    outcome: &'a mut Outcome,
}

impl Crew<'_> {
    fn tell_all(&mut self, control: &Control) {
        let line = control.to_string();
        self.processes.iter_mut().for_each(|process| process.say(&line));
    }

    /// Takes in what the processes say until `enough`; when one is lost, has the others end first.
    fn listen_until(&mut self, enough: &dyn Fn(&Self) -> bool) -> Result<(), Failed> {
        let (mut lost, mut deadline_ns, mut told_to_stop) = (None, u64::MAX, false);
        loop {
            let all_ended = self.processes.iter().all(|process| process.has_ended);
            let now_ns = MonotonicClock.now_ns();
            if lost.is_none() && enough(self) {
                return Ok(());
            }
            if all_ended || now_ns > deadline_ns {
                return Err(lost.unwrap_or_else(|| anyhow::anyhow!("interrupted before the first request").into()));
            }
            let heard = self.heard.1.recv_timeout(LOOK);
            if let Some(failed) = heard.ok().and_then(|(index, told)| self.hear(index, told)) {
                lost.get_or_insert(failed);
            }
            let stop = lost.is_some() || self.interrupted.load(Ordering::Relaxed);
            if stop && !std::mem::replace(&mut told_to_stop, true) {
                deadline_ns = now_ns + PATIENCE_NS;
                self.tell_all(&Control::Stop);
            }
        }
    }

    /// Takes in what process `index` says; tells why it is lost, if it is.
    fn hear(&mut self, index: usize, told: Told) -> Option<Failed> {
        let process = &mut self.processes[index];
        let lost = |reason: String| Some(anyhow::anyhow!("process {} of the replay {reason}", index + 1).into());
        match told {
            Told::Message(Message::Done) => process.is_done = true,
            Told::Message(Message::Error { text }) => return lost(format!("failed: {text}")),
            Told::Message(message) => {
                process.is_ready |= matches!(message, Message::Ready { .. });
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
