//! The controller: starts workers as processes or threads, and receives their events.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use manometer_measure::process_mark::{self, ProcessMark};
use manometer_measure::{Clock as _, MonotonicClock};
use manometer_workload::error::WorkloadError;
use manometer_workload::interface::WorkloadData;

use crate::control::{Controls, MessageSink};
use crate::error::{SessionError, StartError};
use crate::guard::Guard;
use crate::protocol::{Control, Job, Message};

/// How long a killed worker may take to end, and how often to poll for it, in nanoseconds.
const KILL_TIMEOUT_NS: u64 = 2_000_000_000;
const KILL_POLL_NS: u64 = 5_000_000;

/// An event of a worker.
#[derive(Debug)]
pub enum WorkerEvent {
    /// A message, and when it arrived, in nanoseconds of the local `CLOCK_MONOTONIC`.
    Message(u64, Message),
    /// Its output has ended: the worker has ended or is ending.
    Ended,
}

/// Workers, numbered in the order of their start, and their events.
pub struct Controller {
    workers: Vec<Worker>,
    /// Ends the worker processes if this process is killed. The guard of the controller above this one does so for both.
    guard: Option<Guard>,
    sender: Sender<(usize, WorkerEvent)>,
    events: Receiver<(usize, WorkerEvent)>,
}

impl Default for Controller {
    fn default() -> Self {
        let (sender, events) = channel();
        Self { workers: Vec::new(), guard: None, sender, events }
    }
}

impl Controller {
    /// Starts `command`, whose standard input and output are a worker's, and sends it its `job` once `admit` has put its
    /// process where it belongs; `admit` returns the process that is the worker. The worker's number. What carries `mark`
    /// ends with the worker, however that and this process end; a worker elsewhere has none.
    ///
    /// # Errors
    /// It, or its guard, cannot be started, or it cannot be admitted.
    pub fn start_process(
        &mut self,
        command: &mut Command,
        job: &Job,
        mark: Option<ProcessMark>,
        admit: impl FnOnce(u32) -> Result<u32, String>,
    ) -> Result<usize, StartError> {
        let failed = |reason: String| StartError { workload: job.name.clone(), reason };
        let job_line = serde_json::to_string(job).map_err(|error| failed(error.to_string()))?;
        if let Some(mark) = &mark {
            self.guard(Path::new(command.get_program()), mark)
                .map_err(|error| failed(format!("its guard: {error}")))?;
            mark.apply(command);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", command.get_program().display())))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let index = self.workers.len();
        if let Some(stdout) = stdout {
            let events = self.sender.clone();
            std::thread::spawn(move || forward_messages(stdout, index, &events));
        }
        let mut process = WorkerProcess { pid: child.id(), child, stdin, mark };
        process.pid = admit(process.pid).map_err(failed)?;
        let written = process.write_line(&job_line);
        self.workers.push(Worker::Process(process));
        match written {
            // The worker has ended already, which the end of its output reports.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error.to_string())),
            _ => Ok(index),
        }
    }

    /// Has the guard, a process of `program`, watch over what carries `mark`.
    fn guard(&mut self, program: &Path, mark: &ProcessMark) -> io::Result<()> {
        if process_mark::is_marked() {
            return Ok(());
        }
        let guard = match self.guard.take() {
            Some(guard) => guard,
            None => {
                // What a killed worker leaves behind comes to this process, also where its mark is lost.
                let _ = process_mark::adopt_orphans();
                Guard::start(program)?
            }
        };
        self.guard.insert(guard).watch(mark)
    }

    /// Runs `work` on a thread of this process. Returns the worker's number.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start_thread(
        &mut self,
        name: &str,
        work: impl FnOnce(&Controls, &mut dyn MessageSink) -> Result<WorkloadData, SessionError> + Send + 'static,
    ) -> Result<usize, StartError> {
        let index = self.workers.len();
        let (controls, receiver) = channel();
        let events = self.sender.clone();
        let run = move || {
            let ended = EndGuard { index, events: events.clone() };
            let mut sink = |message| {
                events
                    .send((index, WorkerEvent::Message(MonotonicClock.now_ns(), message)))
                    .map_err(|_| io::ErrorKind::BrokenPipe.into())
            };
            let done = work(&Controls::new(receiver), &mut sink);
            drop(ended);
            done
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        let thread = thread.map_err(|error| StartError { workload: name.to_owned(), reason: error.to_string() })?;
        self.workers.push(Worker::Thread(WorkerThread { controls, thread: Some(thread) }));
        Ok(index)
    }

    /// The next event of any worker, with its number; `None` after `timeout`.
    pub fn receive(&self, timeout: Duration) -> Option<(usize, WorkerEvent)> {
        self.events.recv_timeout(timeout).ok()
    }

    /// Sends `control` to the worker `index`. If it has ended, the end of its output reports that.
    pub fn send(&mut self, index: usize, control: &Control) {
        match &mut self.workers[index] {
            Worker::Process(process) => process.send_line(&control.to_string()),
            Worker::Thread(thread) => drop(thread.controls.send(control.clone())),
        }
    }

    /// Requests the clocks of the worker process `index`: `line` is [`CLOCK`](crate::protocol::CLOCK) or
    /// [`CLOCK_AND_SYNC`](crate::protocol::CLOCK_AND_SYNC).
    pub fn request_clock(&mut self, index: usize, line: &str) {
        if let Worker::Process(process) = &mut self.workers[index] {
            process.send_line(line);
        }
    }

    /// The process id of the worker `index`: in a container it differs from that of the started process.
    pub fn pid(&self, index: usize) -> u32 {
        match &self.workers[index] {
            Worker::Process(process) => process.pid,
            Worker::Thread(_) => std::process::id(),
        }
    }

    /// Whether the worker `index` is alive, as far as the kernel shows.
    pub fn is_alive(&self, index: usize) -> bool {
        match &self.workers[index] {
            Worker::Process(process) => process.is_alive(),
            Worker::Thread(thread) => thread.thread.as_ref().is_some_and(|thread| !thread.is_finished()),
        }
    }

    /// The state of the worker process `index` in `/proc`, such as `S`, `D` or `T`.
    pub fn state(&self, index: usize) -> Option<char> {
        match &self.workers[index] {
            Worker::Process(process) => process.state(),
            Worker::Thread(_) => None,
        }
    }

    /// Ends the worker `index` if it is alive: kills a process, stops a thread.
    pub fn end(&mut self, index: usize) {
        match &mut self.workers[index] {
            Worker::Process(process) => process.end(),
            Worker::Thread(thread) => drop(thread.controls.send(Control::Stop)),
        }
    }

    /// Ends every worker and waits for them, within a limit.
    pub fn end_all(&mut self) {
        (0..self.workers.len()).for_each(|index| self.end(index));
        self.workers.clear();
        self.end_adopted();
    }

    /// Ends what workers left behind that this process adopted.
    fn end_adopted(&self) {
        let of_worker = |worker: &Worker| match worker {
            Worker::Process(process) => Some(process.child.id()),
            Worker::Thread(_) => None,
        };
        let children: Vec<u32> =
            self.workers.iter().filter_map(of_worker).chain(self.guard.as_ref().map(Guard::pid)).collect();
        warn_of(&process_mark::end_adopted(&children));
    }

    /// Waits for the worker process `index`, whose output has ended.
    ///
    /// # Errors
    /// It did not end with success; the text says how, for the user.
    pub fn wait(&mut self, index: usize) -> Result<(), String> {
        let ended = match &mut self.workers[index] {
            Worker::Process(process) => process.wait(),
            Worker::Thread(_) => return Ok(()),
        };
        self.end_adopted();
        ended
    }

    /// Waits for the worker process `index`, whose output has ended before its workload. How it ended, for the user.
    pub fn early_end(&mut self, index: usize) -> String {
        self.wait(index).err().unwrap_or_else(|| "its process ended before its workload".to_owned())
    }

    /// Joins the worker thread `index`, whose output has ended. Returns the data that it left.
    ///
    /// # Errors
    /// Its session failed, or it panicked.
    pub fn join(&mut self, index: usize) -> Result<WorkloadData, SessionError> {
        let Worker::Thread(WorkerThread { thread, .. }) = &mut self.workers[index] else {
            return Ok(WorkloadData::default());
        };
        thread.take().map_or(Ok(WorkloadData::default()), |thread| {
            thread.join().unwrap_or(Err(SessionError::Workload(WorkloadError::Panicked)))
        })
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.end_all();
    }
}

fn warn_of(left: &[u32]) {
    if !left.is_empty() {
        tracing::warn!(
            "processes {left:?} of a worker cannot be ended: they wait for a device, or belong to another user"
        );
    }
}

/// Reports the end of a thread's output, also after a panic.
struct EndGuard {
    index: usize,
    events: Sender<(usize, WorkerEvent)>,
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        let _ = self.events.send((self.index, WorkerEvent::Ended));
    }
}

fn forward_messages(stdout: ChildStdout, index: usize, events: &Sender<(usize, WorkerEvent)>) {
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let received_ns = MonotonicClock.now_ns();
        let message = serde_json::from_str(&line)
            .unwrap_or_else(|error| Message::Error { text: format!("its output is not a message ({error}): {line}") });
        if events.send((index, WorkerEvent::Message(received_ns, message))).is_err() {
            return;
        }
    }
    // The controller may have ended already.
    let _ = events.send((index, WorkerEvent::Ended));
}

enum Worker {
    Process(WorkerProcess),
    Thread(WorkerThread),
}

struct WorkerThread {
    controls: Sender<Control>,
    thread: Option<JoinHandle<Result<WorkloadData, SessionError>>>,
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        let _ = self.controls.send(Control::Stop);
    }
}

struct WorkerProcess {
    pid: u32,
    child: Child,
    stdin: Option<ChildStdin>,
    mark: Option<ProcessMark>,
}

impl WorkerProcess {
    fn is_alive(&self) -> bool {
        self.state().is_some_and(|state| !matches!(state, 'Z' | 'X'))
    }

    fn state(&self) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    fn send_line(&mut self, line: &str) {
        if let Err(error) = self.write_line(line) {
            tracing::debug!("`{line}` did not reach worker process {}: {error}", self.pid);
        }
    }

    fn write_line(&mut self, line: &str) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(line.as_bytes())?;
        stdin.write_all(b"\n")?;
        stdin.flush()
    }

    fn end(&mut self) {
        drop(self.stdin.take());
        if matches!(self.child.try_wait(), Ok(None)) {
            // The process may have ended already.
            let _ = self.child.kill();
        }
    }

    fn wait(&mut self) -> Result<(), String> {
        let status = self.child.wait();
        self.end_what_is_left();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("its process ended with {status}")),
            Err(error) => Err(format!("its process cannot be waited for: {error}")),
        }
    }

    /// Ends what a worker that was killed had started.
    fn end_what_is_left(&mut self) {
        warn_of(&self.mark.take().map(|mark| mark.end_processes()).unwrap_or_default());
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.end();
        // A thread that hangs in a device cannot be killed, so the wait is limited.
        let deadline_ns = MonotonicClock.now_ns() + KILL_TIMEOUT_NS;
        while matches!(self.child.try_wait(), Ok(None)) && MonotonicClock.now_ns() < deadline_ns {
            MonotonicClock.sleep(KILL_POLL_NS);
        }
        self.end_what_is_left();
    }
}
