//! Several workers that begin at the same moment: here, and on other hosts by a command that leads there.
//!
//! The first prepares what all use; then the others get ready, and all begin at the same moment of the clock that they
//! share. Where one is lost, the others end. The first is stopped when all others have ended: what it prepared may be its
//! to remove, and is theirs until then.

mod client_share;
mod client_worker;
mod clocks;
mod merged_messages;

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manometer_measure::clock::WallAnchor;
use manometer_measure::clock_offset::{ClockOffset, ClockSync, RoundTrip, clock_id, clock_sync};
use manometer_measure::process_mark::ProcessMark;
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::replay::START;
use manometer_workload::settings::WorkloadSettings;

pub use self::client_share::{CLIENTS_MAX, check_clients};
pub(crate) use self::client_worker::run_clients;
pub use self::clocks::HostClock;
use crate::controller::{Controller, WorkerEvent};
pub use crate::error::GroupError;
pub use crate::protocol::OnLost;
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

/// Receives the messages of a group.
pub trait GroupObserver {
    /// Handles `message` of the worker `index`.
    fn receive(&mut self, index: usize, message: Message);

    /// Handles the loss of the worker `index`, without which the others go on.
    fn lost(&mut self, index: usize, reason: &str);

    /// Handles the clocks of other hosts, compared with the local one before the start, and again after the end.
    fn clocks_compared(&mut self, clocks: Vec<HostClock>);
}

/// Runs the `jobs` in a worker process each, on the `hosts` in turn (commands that lead to another host's `program`, or
/// [`LOCAL`]; none for here), until all have ended or `interrupted`. `on_lost` says what a loss after the start means.
///
/// # Errors
/// A worker could not be started, failed or was lost.
pub fn run(
    program: &Path,
    jobs: &[Job],
    hosts: &[String],
    on_lost: OnLost,
    interrupted: &AtomicBool,
    observer: &mut dyn GroupObserver,
) -> Result<(), GroupError> {
    let interrupted = || interrupted.load(Ordering::Relaxed);
    let mut group = Group::start(program, jobs, hosts, &interrupted, observer)?;
    let mut clocks = group.compare_clocks()?;
    let start_ns = MonotonicClock.now_ns() + BARRIER_NS;
    for (index, clock) in clocks.iter().enumerate() {
        let start_ns = clock.as_ref().map_or(start_ns, |clock| clock.offset.there_ns(start_ns));
        let start = Control::Set([(START.to_owned(), start_ns.into())].into_iter().collect());
        group.controller.send(index, &start);
    }
    group.observer.clocks_compared(clocks.iter().flatten().cloned().collect());
    group.on_lost = on_lost;
    group.send_all(&Control::Go);
    group.receive_until(&|group| group.members.iter().all(|member| member.has_replayed || member.has_ended))?;
    group.compare_clocks_again(&mut clocks)?;
    group.observer.clocks_compared(clocks.into_iter().flatten().collect());
    group.end()
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
    /// Whether its loss was reported.
    is_lost: bool,
    /// The last reading of its clocks, and when it arrived.
    clock: Option<ClockReading>,
}

/// A reading of the clocks of a worker.
struct ClockReading {
    /// When it arrived, on the local clock.
    received_ns: u64,
    now: WallAnchor,
    sync: Option<ClockSync>,
    id: Option<String>,
}

struct Group<'a, O: ?Sized> {
    controller: Controller,
    members: Vec<Member>,
    on_lost: OnLost,
    /// Whether all outcomes are there, so that what the first prepared is no longer used.
    is_ending: bool,
    is_interrupted: &'a dyn Fn() -> bool,
    observer: &'a mut O,
}

impl<'a, O: GroupObserver + ?Sized> Group<'a, O> {
    /// Starts a worker for each job, on the hosts in turn, and waits until all are ready: the first one alone.
    fn start(
        program: &Path,
        jobs: &[Job],
        hosts: &[String],
        is_interrupted: &'a dyn Fn() -> bool,
        observer: &'a mut O,
    ) -> Result<Self, GroupError> {
        let (controller, members) = (Controller::default(), Vec::new());
        // Before the start nothing is lost that could not be repeated.
        let mut group = Self { controller, members, on_lost: OnLost::Stop, is_ending: false, is_interrupted, observer };
        let hosts: Vec<Option<&str>> = match hosts {
            [] => vec![None],
            hosts => hosts.iter().map(|on| (on != LOCAL && on != HERE).then_some(on.as_str())).collect(),
        };
        for (index, (job, on)) in jobs.iter().zip(hosts.into_iter().cycle()).enumerate() {
            // Only a replay says that it has ended; any other workload ends with its worker.
            let waits = on.is_some() && matches!(job.workload, WorkloadSettings::Replay(_));
            let mark = on.is_none().then(ProcessMark::new);
            group.controller.start_process(&mut command(program, on), &Job { waits, ..job.clone() }, mark, Ok)?;
            group.members.push(Member { on: on.map(str::to_owned), ..Member::default() });
            if index == 0 {
                group.receive_until(&|group| group.members[0].is_ready)?;
            }
        }
        group.receive_until(&|group| group.members.iter().all(|member| member.is_ready))?;
        Ok(group)
    }

    /// Sends `control` to every worker.
    fn send_all(&mut self, control: &Control) {
        (0..self.members.len()).for_each(|index| self.controller.send(index, control));
    }

    /// Stops every worker, the first one last.
    fn end(&mut self) -> Result<(), GroupError> {
        (1..self.members.len()).for_each(|index| self.controller.send(index, &Control::Stop));
        self.is_ending = true;
        self.receive_until(&|group| group.members.iter().all(|member| member.has_ended))
    }

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
        let first = self.read_clock(index, protocol::CLOCK_AND_SYNC)?;
        let in_step_by = first.sync.as_ref().map(|theirs| theirs.by.clone());
        let clock = |offset| HostClock { process: index + 1, on, offset, in_step_by, offset_after_ns: None };
        if first.id.is_some() && first.id == clock_id() {
            return Ok(Some(clock(ClockOffset::SAME)));
        }
        let mut trips = Vec::new();
        for _ in 0..ROUND_TRIPS {
            let sent = WallAnchor::now();
            let reading = self.read_clock(index, protocol::CLOCK)?;
            trips.push(RoundTrip { sent, remote: reading.now, received_ns: reading.received_ns });
        }
        Ok(ClockOffset::of(&trips, ours, first.sync.as_ref()).map(clock))
    }

    /// Compares the clocks of the workers that are still there with the local one again.
    fn compare_clocks_again(&mut self, before: &mut [Option<HostClock>]) -> Result<(), GroupError> {
        let ours = before.iter().any(Option::is_some).then(clock_sync).flatten();
        for (index, clock) in before.iter_mut().enumerate() {
            let Some(clock) = clock.as_mut().filter(|_| !self.members[index].has_ended) else { continue };
            let after = self.compare_clock(index, ours.as_ref())?;
            clock.offset_after_ns = after.map(|after| after.offset.offset_ns);
        }
        Ok(())
    }

    fn read_clock(&mut self, index: usize, line: &str) -> Result<ClockReading, GroupError> {
        self.members[index].clock = None;
        self.controller.request_clock(index, line);
        self.receive_until(&|group| group.members[index].clock.is_some() || group.members[index].has_ended)?;
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
                if std::mem::replace(&mut self.members[index].is_lost, true) {
                    continue;
                }
                let all_lost = self.members.iter().all(|member| member.has_ended && !member.is_done);
                match self.on_lost {
                    OnLost::Continue if !all_lost => self.observer.lost(index, &reason),
                    _ => drop(lost.get_or_insert(GroupError::Lost { number: index + 1, reason })),
                }
            }
            let stop = lost.is_some() || (self.is_interrupted)();
            if stop && !std::mem::replace(&mut others_stopped, true) {
                deadline_ns = now_ns + END_TIMEOUT_NS;
                (1..self.members.len()).for_each(|index| self.controller.send(index, &Control::Stop));
            }
            let is_last = self.members.iter().skip(1).all(|member| member.has_ended);
            let is_over = stop || self.is_ending;
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
            WorkerEvent::Message(received_ns, Message::Clock { now, sync, id }) => {
                member.clock = Some(ClockReading { received_ns, now, sync, id });
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
