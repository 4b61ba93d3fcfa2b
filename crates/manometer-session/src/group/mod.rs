//! Several workers that begin at the same moment: here, and on other hosts by a command that leads there.
//!
//! The first prepares what all use; then the others get ready, and all begin at the same moment of the clock that they
//! share. Where one is lost, the others end. The first is stopped when all others have ended: what it prepared may be its
//! to remove, and is theirs until then.

mod clocks;

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manometer_measure::clock::WallAnchor;
use manometer_measure::clock_offset::{ClockOffset, ClockSync, RoundTrip, clock_sync};
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::replay::START;

pub use self::clocks::HostClock;
use crate::controller::{Controller, WorkerEvent};
use crate::error::StartError;
use crate::protocol::{self, Control, Job, Message};

/// How often an interruption is polled.
const POLL: Duration = Duration::from_millis(20);
/// How long after all workers are ready the first request is due, in nanoseconds: the start must have reached every
/// process by then.
const BARRIER_NS: u64 = 300_000_000;
/// Clock readings of each other host; the fastest answer counts.
const ROUND_TRIPS: usize = 32;
/// The name of the local host, where no command is needed.
pub const LOCAL: &str = "local";
/// The former name of [`LOCAL`].
const HERE: &str = "here";
/// How long the other workers may take to end after one is lost, in nanoseconds.
const END_TIMEOUT_NS: u64 = 10_000_000_000;

/// Why a group of workers did not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// A worker could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A worker failed or was lost.
    #[error("process {number} of the replay {reason}")]
    Lost {
        /// Its number, from 1.
        number: usize,
        /// The reason.
        reason: String,
    },
    /// The user interrupted it.
    #[error("interrupted before the first request")]
    Interrupted,
}

/// Receives the messages of a group.
pub trait GroupObserver {
    /// Handles `message` of the worker `index`.
    fn receive(&mut self, index: usize, message: Message);

    /// Handles the clocks of other hosts, compared with the local one.
    fn clocks_compared(&mut self, clocks: Vec<HostClock>);
}

/// Runs the `jobs` in a worker process each, on the `hosts` in turn (commands that lead to another host's `program`, or
/// [`LOCAL`]; none for here), until all have ended or `interrupted`.
///
/// # Errors
/// A worker could not be started, failed or was lost.
pub fn run(
    program: &Path,
    jobs: &[Job],
    hosts: &[String],
    interrupted: &AtomicBool,
    observer: &mut dyn GroupObserver,
) -> Result<(), GroupError> {
    let mut group = Group { controller: Controller::default(), members: Vec::new(), interrupted, observer };
    let hosts: Vec<Option<&str>> = match hosts {
        [] => vec![None],
        hosts => hosts.iter().map(|on| (on != LOCAL && on != HERE).then_some(on.as_str())).collect(),
    };
    for (index, (job, on)) in jobs.iter().zip(hosts.into_iter().cycle()).enumerate() {
        group.controller.start_process(&mut command(program, on), job, Ok)?;
        group.members.push(Member { on: on.map(str::to_owned), ..Member::default() });
        if index == 0 {
            group.receive_until(&|group| group.members[0].is_ready)?;
        }
    }
    group.receive_until(&|group| group.members.iter().all(|member| member.is_ready))?;
    let clocks = group.compare_clocks()?;
    let start_ns = MonotonicClock.now_ns() + BARRIER_NS;
    for (index, clock) in clocks.iter().enumerate() {
        let start_ns = clock.as_ref().map_or(start_ns, |clock| clock.offset.there_ns(start_ns));
        let start = Control::Set([(START.to_owned(), start_ns.into())].into_iter().collect());
        group.controller.send(index, &start);
    }
    group.observer.clocks_compared(clocks.into_iter().flatten().collect());
    (0..group.members.len()).for_each(|index| group.controller.send(index, &Control::Go));
    group.receive_until(&|group| group.members.iter().all(|member| member.has_ended))
}

/// The command that starts a worker of `program`, here or through `on`.
fn command(program: &Path, on: Option<&str>) -> Command {
    let mut command = match on {
        None => {
            let mut here = Command::new(program);
            // Ctrl-C at the terminal is for the controller, which ends local workers in order. A command to another
            // host may have to ask for a password on the terminal.
            here.process_group(0);
            here
        }
        Some(on) => {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec {on} \"$@\""), "sh"]);
            shell
        }
    };
    command.arg("worker");
    command
}

/// A worker of the group.
#[derive(Default)]
struct Member {
    /// The command that leads to its host; `None` for the local host.
    on: Option<String>,
    is_ready: bool,
    /// Whether it has reported the outcome of its share.
    has_replayed: bool,
    has_ended: bool,
    /// Whether it ended normally.
    is_done: bool,
    /// The last reading of its clocks, and when it arrived.
    clock: Option<(u64, WallAnchor, Option<ClockSync>)>,
}

struct Group<'a> {
    controller: Controller,
    members: Vec<Member>,
    interrupted: &'a AtomicBool,
    observer: &'a mut dyn GroupObserver,
}

impl Group<'_> {
    /// Compares the clock of each process on another host with the local one; `None` for local processes.
    fn compare_clocks(&mut self) -> Result<Vec<Option<HostClock>>, GroupError> {
        if self.members.iter().all(|member| member.on.is_none()) {
            return Ok(vec![None; self.members.len()]);
        }
        let ours = clock_sync();
        (0..self.members.len()).map(|index| self.compare_clock(index, ours.as_ref())).collect()
    }

    fn compare_clock(&mut self, index: usize, ours: Option<&ClockSync>) -> Result<Option<HostClock>, GroupError> {
        let Some(on) = self.members[index].on.clone() else { return Ok(None) };
        let (_, _, theirs) = self.read_clock(index, protocol::CLOCK_AND_SYNC)?;
        let mut trips = Vec::new();
        for _ in 0..ROUND_TRIPS {
            let sent = WallAnchor::now();
            let (received_ns, remote, _) = self.read_clock(index, protocol::CLOCK)?;
            trips.push(RoundTrip { sent, remote, received_ns });
        }
        let offset = ClockOffset::of(&trips, ours, theirs.as_ref());
        let in_step_by = theirs.map(|theirs| theirs.by);
        Ok(offset.map(|offset| HostClock { process: index + 1, on, offset, in_step_by }))
    }

    fn read_clock(&mut self, index: usize, line: &str) -> Result<(u64, WallAnchor, Option<ClockSync>), GroupError> {
        self.members[index].clock = None;
        self.controller.request_clock(index, line);
        self.receive_until(&|group| group.members[index].clock.is_some())?;
        let lost = || GroupError::Lost { number: index + 1, reason: "did not report its clock".to_owned() };
        self.members[index].clock.take().ok_or_else(lost)
    }

    /// Handles the workers' events until `enough`. If one is lost, ends the others first.
    fn receive_until(&mut self, enough: &dyn Fn(&Self) -> bool) -> Result<(), GroupError> {
        let (mut lost, mut deadline_ns, mut others_stopped, mut first_stopped) = (None, u64::MAX, false, false);
        loop {
            let all_ended = self.members.iter().all(|member| member.has_ended);
            let now_ns = MonotonicClock.now_ns();
            if lost.is_none() && enough(self) {
                return Ok(());
            }
            if all_ended || now_ns > deadline_ns {
                return Err(lost.unwrap_or(GroupError::Interrupted));
            }
            if let Some((index, event)) = self.controller.receive(POLL)
                && let Some(reason) = self.receive(index, event)
            {
                lost.get_or_insert(GroupError::Lost { number: index + 1, reason });
            }
            let stop = lost.is_some() || self.interrupted.load(Ordering::Relaxed);
            if stop && !std::mem::replace(&mut others_stopped, true) {
                deadline_ns = now_ns + END_TIMEOUT_NS;
                (1..self.members.len()).for_each(|index| self.controller.send(index, &Control::Stop));
            }
            let is_last = self.members.iter().skip(1).all(|member| member.has_ended);
            let is_over = stop || self.members.first().is_some_and(|member| member.has_replayed);
            if is_last && is_over && !std::mem::replace(&mut first_stopped, true) {
                // Removing its data may take long.
                deadline_ns = deadline_ns.max(now_ns.saturating_add(END_TIMEOUT_NS));
                self.controller.send(0, &Control::Stop);
            }
        }
    }

    /// Handles an event of worker `index`. Returns why it is lost, if it is.
    fn receive(&mut self, index: usize, event: WorkerEvent) -> Option<String> {
        let member = &mut self.members[index];
        match event {
            WorkerEvent::Message(_, Message::Done) => member.is_done = true,
            WorkerEvent::Message(_, Message::Error { text }) => return Some(format!("failed: {text}")),
            WorkerEvent::Message(received_ns, Message::Clock { now, sync }) => {
                member.clock = Some((received_ns, now, sync));
            }
            WorkerEvent::Message(_, message) => {
                member.is_ready |= matches!(message, Message::Ready { .. });
                member.has_replayed |= matches!(message, Message::Replayed { .. });
                self.observer.receive(index, message);
            }
            WorkerEvent::Ended => {
                member.has_ended = true;
                let status = self.controller.wait(index);
                if !member.is_done {
                    let how = status.err().unwrap_or_else(|| "its output ended".to_owned());
                    return Some(format!("was lost: {how}"));
                }
            }
        }
        None
    }
}
