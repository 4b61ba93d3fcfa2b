//! Helpers for tests of the command line: a directory on a real disk, the real binary, and its output.

pub mod servers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use manometer_measure::{Clock as _, MonotonicClock};
use serde_json::Value;

/// The longest that a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// An experiment of a few seconds: the engine `null` with one neighbour.
pub const SHORT: &str = r#"
name = "short"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "null"
workload = "ycsb-b"
records = 1000
[[neighbour]]
name = "writer"
kind = "io"
file_size = "4MiB"
write_ratio = 0.5
[plan]
warmup = "300ms"
phase = "600ms"
vary = { "writer.iodepth" = [1, 4] }
"#;

/// A folder of its own and the program in it.
pub struct Scene {
    dir: tempfile::TempDir,
}

impl Scene {
    /// An empty folder on the disk that holds the build, which is no memory file system.
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir_in(manometer_testing::scratch_directory()).unwrap() }
    }

    /// A folder with `SHORT` as `short.toml`.
    pub fn short() -> Self {
        let scene = Self::new();
        scene.write("short.toml", SHORT);
        scene
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Removes the checksums of a recording of which a file is changed by intention.
    pub fn without_checksums(&self, recording: &str) {
        manometer_testing::remove_checksums(&self.path(recording));
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(manometer_testing::binary("manometer"));
        command.args(words.split_whitespace()).current_dir(self.dir.path());
        // All tests share a disk: each holds it for itself.
        command.env("MANOMETER_LOCK_DIRECTORY", self.dir.path());
        command
    }

    /// Runs `manometer WORDS` to its end.
    pub fn run(&self, words: &str) -> CommandOutput {
        CommandOutput(self.command(words).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs `manometer WORDS` to its end, its standard output a pipe that nobody reads any more.
    pub fn run_unread(&self, words: &str) -> CommandOutput {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        CommandOutput(self.command(words).stdin(Stdio::null()).stdout(writer).output().unwrap())
    }

    /// The same for standard error.
    pub fn run_unheard(&self, words: &str) -> CommandOutput {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        CommandOutput(self.command(words).stdin(Stdio::null()).stderr(writer).output().unwrap())
    }

    /// Runs a line of a shell, in which `manometer` is the program, to its end.
    pub fn shell(&self, line: &str) -> CommandOutput {
        let program = manometer_testing::binary("manometer");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
        command.env("MANOMETER_LOCK_DIRECTORY", self.dir.path());
        CommandOutput(command.output().unwrap())
    }

    /// Starts `manometer WORDS` and goes on.
    pub fn start(&self, words: &str) -> Running {
        let child = self.command(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running { child: Some(child.unwrap()) }
    }
}

/// Output and exit status of a finished command.
pub struct CommandOutput(Output);

impl CommandOutput {
    #[track_caller]
    pub fn status(self, expected: i32) -> Self {
        assert_eq!(self.0.status.code(), Some(expected), "{}{}", self.out(), self.err());
        self
    }

    /// The exit status.
    pub fn code(&self) -> i32 {
        self.0.status.code().unwrap()
    }

    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    #[track_caller]
    pub fn out_has(self, words: &[&str]) -> Self {
        words.iter().for_each(|word| assert!(self.out().contains(word), "`{word}` is not in: {}", self.out()));
        self
    }

    #[track_caller]
    pub fn err_has(self, words: &[&str]) -> Self {
        words.iter().for_each(|word| assert!(self.err().contains(word), "`{word}` is not in: {}", self.err()));
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", self.out(), self.err()))
    }
}

/// A program that runs; ended when the test ends.
pub struct Running {
    child: Option<Child>,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        signal_process(self.pid(), signal);
    }

    /// The workers it started.
    pub fn workers(&self) -> Vec<u32> {
        self.started_as("worker")
    }

    /// The processes that it started with this verb of its own.
    pub fn started_as(&self, verb: &str) -> Vec<u32> {
        let parent = self.pid().to_string();
        let ours = |pid: &u32| stat_field(*pid, 1).as_deref() == Some(&parent) && has_verb(*pid, verb);
        processes().into_iter().filter(ours).collect()
    }

    /// The programs called `name` that it started.
    pub fn children(&self, name: &str) -> Vec<u32> {
        let parent = self.pid().to_string();
        let is_called =
            |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name);
        let ours = |pid: &u32| stat_field(*pid, 1).as_deref() == Some(&parent) && is_called(*pid);
        processes().into_iter().filter(ours).collect()
    }

    /// The worker whose job is called `name`: in the order of the experiment, the primary first.
    pub fn worker(&self, index: usize) -> u32 {
        wait_for("the workers to start", || self.workers().get(index).copied())
    }

    /// Ends it and its workers as a power cut would.
    pub fn kill_everything(self) {
        let workers = self.workers();
        self.signal(rustix::process::Signal::KILL);
        workers.iter().for_each(|pid| signal_process_if_alive(*pid, rustix::process::Signal::KILL));
        self.end();
        wait_for("the workers to end", || workers.iter().all(|pid| !is_alive(*pid)).then_some(()));
    }

    pub fn end(mut self) -> CommandOutput {
        CommandOutput(self.child.take().unwrap().wait_with_output().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn signal_process(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// As [`signal_process`], for one that may have ended.
pub fn signal_process_if_alive(pid: u32, signal: rustix::process::Signal) {
    if is_alive(pid) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: u32) -> bool {
    stat_field(pid, 0).is_some_and(|state| state != "Z" && state != "X")
}

/// Whether a process is `manometer VERB`, and no other program that a run asks something.
fn has_verb(pid: u32, verb: &str) -> bool {
    let is_verb = |line: Vec<u8>| line.split(|byte| *byte == 0).nth(1) == Some(verb.as_bytes());
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(is_verb)
}

pub fn processes() -> Vec<u32> {
    let mut pids: Vec<u32> =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// The process group of `pid`.
pub fn group_of(pid: u32) -> Option<u32> {
    stat_field(pid, 2)?.parse().ok()
}

/// A field of `/proc/PID/stat` behind the command: 0 is the state, 1 the parent.
fn stat_field(pid: u32, index: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let after = text.rsplit_once(") ")?.1;
    after.split(' ').nth(index).map(str::to_owned)
}

/// Waits until `what` is there.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let clock = MonotonicClock;
    let deadline_ns = clock.now_ns() + PATIENCE.as_nanos() as u64;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(clock.now_ns() < deadline_ns, "waited in vain for {what}");
        clock.sleep(10_000_000);
    }
}

/// Waits until the events of the recording in `dir` hold `text`.
#[track_caller]
pub fn wait_for_event(dir: &Path, text: &str) {
    wait_for(text, || {
        let events = fs::read_to_string(dir.join("events.jsonl")).ok()?;
        events.contains(text).then_some(())
    });
}
