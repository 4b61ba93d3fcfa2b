//! A machine that runs one guest after another: user-mode-linux, whose first process is this test program.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::processor_state;
use crate::skip::{Cause, skip};

/// A guest without output for this time hangs: it prints its progress.
const SILENCE: Duration = Duration::from_secs(600);

/// Environment variables of the guest.
pub(super) const FOLDER: &str = "POWER_FOLDER";
/// What the guest is to do.
pub(super) const TASK: &str = "POWER_TASK";

/// The guest's report, in the directory.
pub(super) const REPORT: &str = "report";

/// Where Debian and Ubuntu have root's programs.
pub(super) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// A machine whose guests run one after another.
pub struct Machine {
    directory: TempDir,
    /// Loaded into user-mode-linux.
    library: PathBuf,
    /// The test that is a guest's first process.
    init: &'static str,
}

impl Machine {
    /// `init` is the path of the ignored test that calls [`run_guest`](super::run_guest). Skips the test where user-mode-linux
    /// cannot run.
    #[track_caller]
    pub fn new(init: &'static str) -> Option<Self> {
        if !cfg!(target_arch = "x86_64") {
            skip(Cause::Processor, "user-mode-linux is for x86-64");
            return None;
        }
        for (program, package) in [
            ("linux.uml", "user-mode-linux"),
            ("mkfs.ext4", "e2fsprogs"),
            ("e2fsck", "e2fsprogs"),
            ("dmsetup", "dmsetup"),
        ] {
            if !PATH.split(':').any(|directory| Path::new(directory).join(program).exists()) {
                skip(Cause::Program, format_args!("{program} is not installed (package {package})"));
                return None;
            }
        }
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("mount")).unwrap();
        Some(Self { library: processor_state::compile(directory.path()), directory, init })
    }

    /// The directory that host and guest share.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Runs a guest with files of the directory as devices until it powers off. Returns its report.
    pub(super) fn run(&self, task: &[(&str, &str)], devices: &[String]) -> String {
        let report = self.directory().join(REPORT);
        let _ = fs::remove_file(&report);
        let mut guest = Guest::start(self, task, devices);
        let console = guest.console();
        let report = fs::read_to_string(report).unwrap_or_default();
        match report.strip_suffix("done\n") {
            Some(lines) => lines.to_owned(),
            None => {
                panic!("the guest did not finish {task:?}; it reported `{report}` and its console says:\n{console}")
            }
        }
    }
}

/// The processes of a guest, which end when this is dropped.
struct Guest(Child);

impl Guest {
    fn start(machine: &Machine, task: &[(&str, &str)], devices: &[String]) -> Self {
        let directory = machine.directory();
        let own = std::env::current_exe().unwrap();
        let mut command = Command::new("linux.uml");
        command
            .env("PATH", PATH)
            .env("LD_PRELOAD", &machine.library)
            .current_dir(directory)
            .args(["mem=128M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"])
            .arg(format!("init={}", own.display()))
            .args(["con=null", "con0=null,fd:1", "quiet", "panic=-1", "umid=guest"])
            .arg(format!("uml_dir={}/", directory.display()))
            .arg(format!("{FOLDER}={}", directory.display()))
            .args(task.iter().map(|(name, value)| format!("{name}={value}")))
            .args(('a'..).zip(devices).map(|(letter, device)| format!("ubd{letter}={device}")))
            .args(["--", machine.init, "--exact", "--ignored", "--nocapture"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        Self(command.spawn().unwrap())
    }

    /// The guest's output until it powers off.
    fn console(&mut self) -> String {
        let output = BufReader::new(self.0.stdout.take().unwrap());
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        let mut text = String::new();
        loop {
            match receiver.recv_timeout(SILENCE) {
                Ok(line) => text = text + &line + "\n",
                Err(mpsc::RecvTimeoutError::Disconnected) => return text,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("the guest printed nothing for {SILENCE:?}; its output before:\n{text}")
                }
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.0);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
}
