//! Containers: a worker inside podman or docker.
//!
//! The container shows the host's own programs and libraries, read-only, so that it runs the very worker that a bare
//! process would run; of all else it sees the current folder and what lies below it. Its limits are those of its
//! control group, into which the worker is moved as any other.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use manometer_measure::{Clock as _, MonotonicClock};
use serde_json::{Value, json};

use super::IsolateError;

/// The image: nothing at all.
const IMAGE: &str = "manometer-empty:latest";

/// What of the host a worker needs to run: programs, libraries, names.
const SHOWN: [&str; 7] = ["/bin", "/sbin", "/lib", "/lib64", "/usr", "/etc", "/opt"];

/// The two empty blocks that end an archive: one without files.
const EMPTY_ARCHIVE: [u8; 1024] = [0; 1024];

/// How long a container may take to come up, and how often that is looked for.
const START_PATIENCE_NS: u64 = 30_000_000_000;
const START_LOOK_NS: u64 = 20_000_000;

/// A container for one worker. Dropping it ends what of it is left.
#[derive(Debug)]
pub(crate) struct Container {
    program: &'static str,
    name: String,
    /// The control group that the container's own lies in, from the mounted one.
    parent: String,
    /// Folders of the host that it may write.
    folders: Vec<String>,
}

impl Container {
    /// Gets everything ready for the worker of `workload`, whose data lies below `directory`; starts nothing yet.
    pub(super) fn prepare(program: &'static str, workload: &str, directory: &Path) -> Result<Self, IsolateError> {
        if program == "docker" {
            let driver = answer(program, &["info", "--format", "{{.CgroupDriver}}"])?;
            if driver != "cgroupfs" {
                let advice = "start its daemon with --exec-opt native.cgroupdriver=cgroupfs, or install podman";
                let text = format!("docker makes its control groups through {driver}, not under ours: {advice}");
                return Err(IsolateError::Container(text));
            }
        }
        import_image(program)?;
        let here = std::env::current_dir().map_err(IsolateError::at(Path::new(".")))?;
        let data = std::path::absolute(directory).map_err(IsolateError::at(directory))?;
        let pid = std::process::id();
        let mut folders = vec![here.display().to_string()];
        folders.extend((!data.starts_with(&here)).then(|| data.display().to_string()));
        let (name, parent) = (format!("manometer-{pid}-{workload}"), format!("/manometer-{pid}/{workload}"));
        Ok(Self { program, name, parent, folders })
    }

    /// The command that runs `worker` in it, to be followed by the worker's own words.
    pub(super) fn command(&self, worker: &Path) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.words(worker, |path| Path::new(path).exists()));
        command
    }

    fn words(&self, worker: &Path, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |some: &[&str]| words.extend(some.iter().map(|&word| word.to_owned()));
        if self.program == "podman" {
            add(&["--cgroup-manager", "cgroupfs"]);
        }
        add(&[
            "run",
            "--rm",
            "--interactive",
            "--pull",
            "never",
            "--name",
            &self.name,
            "--cgroup-parent",
            &self.parent,
        ]);
        // io_uring is not among the calls that containers may make unless said, and locks memory.
        add(&["--security-opt", "seccomp=unconfined", "--ulimit", "memlock=-1:-1"]);
        add(&["--network", "host", "--tmpfs", "/tmp"]);
        let worker = worker.display().to_string();
        for shown in SHOWN.into_iter().filter(|folder| exists(folder)).chain([worker.as_str()]) {
            add(&["--volume", &format!("{shown}:{shown}:ro")]);
        }
        for folder in &self.folders {
            add(&["--volume", &format!("{folder}:{folder}")]);
        }
        add(&["--workdir", &self.folders[0], IMAGE, &worker]);
        words
    }

    /// The worker's process, as the host numbers it, once the container is up.
    pub(super) fn worker_pid(&self) -> Result<u32, IsolateError> {
        let deadline_ns = MonotonicClock.now_ns() + START_PATIENCE_NS;
        loop {
            let told = answer(self.program, &["inspect", "--format", "{{.State.Pid}}", &self.name]);
            match told.as_ref().map(|pid| pid.parse::<u32>()) {
                Ok(Ok(pid)) if pid > 0 => return Ok(pid),
                _ if MonotonicClock.now_ns() < deadline_ns => MonotonicClock.sleep(START_LOOK_NS),
                Ok(_) => return Err(IsolateError::Container(format!("{} did not come up within 30 s", self.name))),
                Err(_) => return told.map(|_| 0),
            }
        }
    }

    pub(super) fn describe(&self) -> Value {
        json!({ "program": self.program, "name": self.name })
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // One that has ended is gone already.
        let _ = answer(self.program, &["rm", "--force", &self.name]);
    }
}

/// Has the image there: made out of an archive without files, since everything it shows is the host's.
fn import_image(program: &str) -> Result<(), IsolateError> {
    if answer(program, &["image", "inspect", IMAGE]).is_ok() {
        return Ok(());
    }
    let failed = |error: std::io::Error| IsolateError::Container(format!("{program} import: {error}"));
    let mut child = Command::new(program)
        .args(["import", "-", IMAGE])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(&EMPTY_ARCHIVE).map_err(failed)?;
    }
    said(program, child.wait_with_output().map_err(failed)?).map(drop)
}

/// What `program` says to `words`.
fn answer(program: &str, words: &[&str]) -> Result<String, IsolateError> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output();
    said(program, output.map_err(|error| IsolateError::Container(format!("{program}: {error}")))?)
}

fn said(program: &str, output: std::process::Output) -> Result<String, IsolateError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(IsolateError::Container(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(program: &'static str) -> String {
        let container = Container {
            program,
            name: "manometer-7-writer".to_owned(),
            parent: "/manometer-7/writer".to_owned(),
            folders: vec!["/work".to_owned(), "/mnt/data".to_owned()],
        };
        let words = container.words(Path::new("/opt/bin/manometer"), |path| path == "/usr").join(" ");
        std::mem::forget(container);
        words
    }

    #[test]
    fn a_container_lies_in_its_group_and_shows_the_hosts_programs() {
        let podman = words("podman");
        for part in [
            "--cgroup-manager cgroupfs run --rm --interactive",
            "--cgroup-parent /manometer-7/writer",
            "--volume /usr:/usr:ro --volume /opt/bin/manometer:/opt/bin/manometer:ro",
            "--volume /work:/work --volume /mnt/data:/mnt/data --workdir /work",
        ] {
            assert!(podman.contains(part), "`{part}` is not in: {podman}");
        }
        assert!(podman.ends_with("manometer-empty:latest /opt/bin/manometer"), "{podman}");
        assert!(words("docker").starts_with("run --rm"));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = answer("no-such-program-here", &["info"]).unwrap_err().to_string();
        assert!(error.contains("no-such-program-here"), "{error}");
    }
}
