//! A machine that runs one guest after another: user-mode-linux, whose first process is this test program.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// A guest that says nothing for so long hangs: it tells how far it is.
const SILENCE: Duration = Duration::from_secs(600);

/// The names that the guest finds in its environment.
pub const FOLDER: &str = "RLSM_POWER_FOLDER";
pub const TASK: &str = "RLSM_POWER_TASK";

/// What the guest leaves for the host, in the folder.
pub const REPORT: &str = "report";

/// Where Debian and Ubuntu have what root calls.
pub const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

pub struct Machine {
    folder: TempDir,
}

impl Machine {
    /// None, and a message, where it cannot be.
    pub fn new() -> Option<Self> {
        if !cfg!(target_arch = "x86_64") {
            println!("skipped: user-mode-linux is for x86-64");
            return None;
        }
        for (program, package) in [
            ("linux.uml", "user-mode-linux"),
            ("mkfs.ext4", "e2fsprogs"),
            ("e2fsck", "e2fsprogs"),
            ("dmsetup", "dmsetup"),
        ] {
            if !PATH.split(':').any(|folder| Path::new(folder).join(program).exists()) {
                println!("skipped: {program} is not installed (package {package})");
                return None;
            }
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("mount")).unwrap();
        Some(Self { folder })
    }

    /// What the guest sees as well, and can write to.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a guest with these files of the folder as devices until it powers itself off; what it reported.
    pub fn run(&self, task: &[(&str, &str)], devices: &[String]) -> String {
        let report = self.folder().join(REPORT);
        let _ = fs::remove_file(&report);
        let mut guest = Guest::start(self.folder(), task, devices);
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

/// The processes of a guest, which end with this.
struct Guest(Child);

impl Guest {
    fn start(folder: &Path, task: &[(&str, &str)], devices: &[String]) -> Self {
        let own = std::env::current_exe().unwrap();
        let mut command = Command::new("linux.uml");
        command
            .env("PATH", PATH)
            .current_dir(folder)
            .args(["mem=128M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"])
            .arg(format!("init={}", own.display()))
            .args(["con=null", "con0=null,fd:1", "quiet", "panic=-1", "umid=guest"])
            .arg(format!("uml_dir={}/", folder.display()))
            .arg(format!("{FOLDER}={}", folder.display()))
            .args(task.iter().map(|(name, value)| format!("{name}={value}")))
            .args(('a'..).zip(devices).map(|(letter, device)| format!("ubd{letter}={device}")))
            .args(["--", "guest::init", "--exact", "--nocapture"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        Self(command.spawn().unwrap())
    }

    /// All that the guest says until it is off.
    fn console(&mut self) -> String {
        let output = BufReader::new(self.0.stdout.take().unwrap());
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                let _ = tell.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        let mut text = String::new();
        loop {
            match told.recv_timeout(SILENCE) {
                Ok(line) => text = text + &line + "\n",
                Err(mpsc::RecvTimeoutError::Disconnected) => return text,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    panic!("the guest has said nothing for {SILENCE:?}; before it said:\n{text}")
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
