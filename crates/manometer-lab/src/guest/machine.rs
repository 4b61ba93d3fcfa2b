//! Starts a guest, and ends it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use manometer_measure::process_mark::ProcessMark;
use manometer_measure::{ByteSize, Clock as _, FileLock, MonotonicClock};
use manometer_session::guard::Guard;
use procfs::{Current as _, Meminfo};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::task::{GuestResult, GuestTask};
use crate::{LabError, program};

/// The kernel as a program, of the package user-mode-linux.
pub const KERNEL: &str = "linux.uml";

/// The environment variable with the directory that host and guest share, and files in it.
pub(super) const SHARE: &str = "MANOMETER_LAB_SHARE";
pub(super) const TASK: &str = "task.json";
pub(super) const RESULT: &str = "result.json";

/// How often to look whether the guest is to end.
const INTERVAL: Duration = Duration::from_millis(200);

/// With less memory the guest's kernel fails or waits for ever.
const MEMORY_MIN: u64 = 128 << 20;

/// What of the guest's console is shown when it fails.
const CONSOLE_LINES: usize = 20;

/// What every guest's console says.
const CONSOLE_NOISE: [&str; 2] = ["SELinux", "mmapper_init"];

/// The most disks: their names end in a letter.
pub const DISKS_MAX: usize = 16;

/// The path of a disk in a guest.
pub fn disk_path(at: usize) -> PathBuf {
    let letter = ('a'..='z').nth(at).unwrap_or('z');
    PathBuf::from(format!("/dev/ubd{letter}"))
}

/// How the name of a machine's directory begins, and the file in it that is locked as long as the machine is there.
const PREFIX: &str = "manometer-lab";
const LOCK: &str = "manometer-lab.lock";

/// Locks the directory of a machine, if it is not locked.
fn lock(directory: &Path) -> io::Result<Option<FileLock>> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(directory.join(LOCK))?;
    FileLock::take(file)
}

/// Removes what machines left in `scratch` that were killed.
fn remove_left(scratch: &Path) {
    let entries = fs::read_dir(scratch).into_iter().flatten().filter_map(Result::ok);
    let of_machine = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for directory in of_machine.map(|entry| entry.path()).filter(|path| path.join(LOCK).is_file()) {
        if matches!(lock(&directory), Ok(Some(_))) {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// A guest that runs one task.
#[derive(Debug)]
pub struct GuestMachine {
    /// Holds the task, the result and the disks.
    directory: TempDir,
    /// Says that the directory is in use.
    _lock: Option<FileLock>,
    /// This program, whose verb `lab guest` is the guest's first process.
    program: PathBuf,
    memory: ByteSize,
    /// How long it may take.
    time_limit: Duration,
}

impl GuestMachine {
    /// A guest with `memory`, whose disks lie below `scratch`, and which may take `time_limit`.
    ///
    /// # Errors
    /// This host cannot run guests, or `scratch` is not writable.
    pub fn new(program: &Path, scratch: &Path, memory: ByteSize, time_limit: Duration) -> Result<Self, LabError> {
        if !cfg!(target_arch = "x86_64") {
            return Err(LabError::Refused("user-mode-linux is for x86-64".to_owned()));
        }
        for (name, package) in [(KERNEL, "user-mode-linux"), ("modprobe", "kmod")] {
            if !program::is_installed(name) {
                return Err(LabError::Refused(format!("`{name}` is not installed (package {package})")));
            }
        }
        if !(MEMORY_MIN..=memory_available()).contains(&memory.0) {
            return Err(LabError::Refused(format!(
                "--memory {memory}: a guest takes from 128MiB to what is available, {:.0} MiB",
                ByteSize(memory_available()).mib()
            )));
        }
        let refuse = |path: &Path, reason: &str| Err(LabError::Refused(format!("{}: {reason}", path.display())));
        remove_left(scratch);
        let directory = match tempfile::Builder::new().prefix(PREFIX).tempdir_in(scratch) {
            Ok(directory) => directory,
            Err(error) => return refuse(scratch, &format!("the guest's disks cannot be there: {error}")),
        };
        for path in [directory.path(), program] {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+@".contains(letter);
            if !path.to_str().is_some_and(|path| path.chars().all(is_plain)) {
                return refuse(path, "a guest takes paths of ASCII letters, digits and `/._-+@` only");
            }
        }
        let lock = lock(directory.path()).map_err(LabError::at(directory.path()))?;
        Ok(Self { directory, _lock: lock, program: program.to_owned(), memory, time_limit })
    }

    /// A file in the directory that host and guest share.
    pub fn shared(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a task on new disks of `sizes` bytes. `interrupted` ends it.
    ///
    /// # Errors
    /// The guest did not finish, or its task failed.
    pub fn run(&self, task: &GuestTask, sizes: &[u64], interrupted: &AtomicBool) -> Result<GuestResult, LabError> {
        self.run_on(task, &self.disks(sizes)?, interrupted)
    }

    /// New sparse disks of `sizes` bytes, for guests one after another.
    ///
    /// # Errors
    /// They are too many, or cannot be created.
    pub fn disks(&self, sizes: &[u64]) -> Result<Vec<GuestDisk>, LabError> {
        if sizes.len() > DISKS_MAX {
            return Err(LabError::Refused(format!("a guest has at most {DISKS_MAX} disks")));
        }
        sizes.iter().enumerate().map(|(at, bytes)| self.disk(at, *bytes)).collect()
    }

    /// Runs a task on disks that were there before and stay. `interrupted` ends it.
    ///
    /// # Errors
    /// The guest did not finish, or its task failed.
    pub fn run_on(
        &self,
        task: &GuestTask,
        disks: &[GuestDisk],
        interrupted: &AtomicBool,
    ) -> Result<GuestResult, LabError> {
        let text = serde_json::to_vec(task).map_err(io::Error::other);
        let path = self.shared(TASK);
        text.and_then(|text| fs::write(&path, text)).map_err(LabError::at(path))?;
        let _ = fs::remove_file(self.shared(RESULT));
        let console = self.boot(disks, interrupted)?;
        let result = fs::read(self.shared(RESULT)).unwrap_or_default();
        match serde_json::from_slice::<Result<GuestResult, String>>(&result) {
            Ok(result) => result.map_err(|error| LabError::Guest(format!("in the guest: {error}"))),
            Err(_) => Err(LabError::Guest(format!("the guest ended without a result; its console says:\n{console}"))),
        }
    }

    fn disk(&self, at: usize, bytes: u64) -> Result<GuestDisk, LabError> {
        let path = self.shared(&format!("disk-{at}"));
        let file = File::create(&path).and_then(|file| file.set_len(bytes));
        file.map(|()| GuestDisk(path.clone())).map_err(LabError::at(path))
    }

    /// Boots the guest and waits until it powers off. Returns the end of its console.
    fn boot(&self, disks: &[GuestDisk], interrupted: &AtomicBool) -> Result<String, LabError> {
        let mark = ProcessMark::new();
        let mut guard = Guard::start(&self.program).map_err(LabError::at(&self.program))?;
        guard.watch(&mark).map_err(LabError::at(&self.program))?;
        let share = self.directory.path().display();
        let mut command = Command::new(KERNEL);
        command
            .env("PATH", program::PATH)
            .current_dir(self.directory.path())
            .arg(format!("mem={}M", self.memory.0 >> 20))
            .args(["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"])
            .arg(format!("init={}", self.program.display()))
            .args(["con=null", "con0=null,fd:1", "quiet", "panic=-1", "umid=guest"])
            .arg(format!("uml_dir={share}/"))
            .args([format!("{SHARE}={share}"), format!("PATH={}", program::PATH)])
            .args(["TMPDIR=/run", "MANOMETER_LOCK_DIRECTORY=/run"])
            .args(('a'..).zip(disks).map(|(letter, disk)| format!("ubd{letter}={}", disk.path().display())))
            .args(["--", "lab", "guest"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        mark.apply(&mut command);
        let mut guest = Guest(command.spawn().map_err(LabError::at(KERNEL))?);
        guest.console(self.time_limit, interrupted)
    }
}

/// A disk of guests: a sparse file, which is removed when this is dropped.
#[derive(Debug)]
pub struct GuestDisk(PathBuf);

impl GuestDisk {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for GuestDisk {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The bytes that this host can give away; all of them where it does not say.
fn memory_available() -> u64 {
    Meminfo::current().ok().and_then(|memory| memory.mem_available).unwrap_or(u64::MAX)
}

/// The processes of a guest, which end when this is dropped.
struct Guest(Child);

impl Guest {
    fn console(&mut self, time_limit: Duration, interrupted: &AtomicBool) -> Result<String, LabError> {
        let (sender, receiver) = mpsc::channel();
        if let Some(output) = self.0.stdout.take() {
            let read = move || {
                for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                    let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
                }
            };
            thread::spawn(read);
        }
        let end_ns = MonotonicClock.now_ns() + time_limit.as_nanos() as u64;
        let mut lines = Vec::new();
        loop {
            match receiver.recv_timeout(INTERVAL) {
                Ok(line) if CONSOLE_NOISE.iter().any(|noise| line.contains(noise)) => {}
                Ok(line) => lines.push(line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(LabError::Guest("interrupted; the guest was ended".to_owned()));
            }
            if MonotonicClock.now_ns() >= end_ns {
                return Err(LabError::Guest(format!(
                    "the guest was ended after {} s: allow it more by `--time-limit`",
                    time_limit.as_secs()
                )));
            }
        }
        // What follows is the kernel's trace of the end of its first process.
        lines.truncate(lines.iter().position(|line| line.starts_with("Kernel panic")).unwrap_or(lines.len()));
        let begin = lines.len().saturating_sub(CONSOLE_LINES);
        Ok(lines[begin..].join("\n"))
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}
