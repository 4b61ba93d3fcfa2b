//! Containers: a worker in podman or docker.
//!
//! The container mounts the host's programs and libraries read-only, so that it runs the same worker binary as a plain
//! process, and the current folder and the device directory. Its limits are those of the control group in which it is
//! created.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use manometer_measure::{Clock as _, MonotonicClock};
use serde_json::{Value, json};

use super::error::IsolateError;

/// The image, which is empty.
const IMAGE: &str = "manometer-empty:latest";

/// The folders of the host that a worker needs: programs, libraries, configuration.
const MOUNTED: [&str; 7] = ["/bin", "/sbin", "/lib", "/lib64", "/usr", "/etc", "/opt"];

/// A tar archive without files: the two empty blocks at its end.
const EMPTY_ARCHIVE: [u8; 1024] = [0; 1024];

/// How long to wait for a container to start, and how often to check.
const START_TIMEOUT_NS: u64 = 30_000_000_000;
const START_CHECK_INTERVAL_NS: u64 = 20_000_000;

/// A container for one worker. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Container {
    program: &'static str,
    name: String,
    /// The parent of the container's control group, relative to the mounted one.
    parent: String,
    /// The writable folders of the host.
    folders: Vec<String>,
}

impl Container {
    /// Prepares a container for the worker of `workload`, whose data are below `directory`. Starts nothing yet.
    pub(super) fn prepare(program: &'static str, workload: &str, directory: &Path) -> Result<Self, IsolateError> {
        if program == "docker" {
            let driver = run_command(program, &["info", "--format", "{{.CgroupDriver}}"])?;
            if driver != "cgroupfs" {
                let advice = "start its daemon with --exec-opt native.cgroupdriver=cgroupfs, or install podman";
                let text =
                    format!("docker creates its control groups through {driver}, not below Manometer's: {advice}");
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

    /// The command that runs `worker` in the container, without the worker's arguments.
    pub(super) fn command(&self, worker: &Path) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.arguments(worker, |path| Path::new(path).exists()));
        command
    }

    fn arguments(&self, worker: &Path, exists: impl Fn(&str) -> bool) -> Vec<String> {
        let mut arguments: Vec<String> = Vec::new();
        let mut add = |some: &[&str]| arguments.extend(some.iter().map(|&one| one.to_owned()));
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
        // The default seccomp profile forbids io_uring, which also locks memory.
        add(&["--security-opt", "seccomp=unconfined", "--ulimit", "memlock=-1:-1"]);
        add(&["--network", "host", "--tmpfs", "/tmp"]);
        let worker = worker.display().to_string();
        for path in MOUNTED.into_iter().filter(|folder| exists(folder)).chain([worker.as_str()]) {
            add(&["--volume", &format!("{path}:{path}:ro")]);
        }
        for folder in &self.folders {
            add(&["--volume", &format!("{folder}:{folder}")]);
        }
        add(&["--workdir", &self.folders[0], IMAGE, &worker]);
        arguments
    }

    /// The id of the worker's process on the host, once the container has started.
    pub(super) fn worker_pid(&self) -> Result<u32, IsolateError> {
        let deadline_ns = MonotonicClock.now_ns() + START_TIMEOUT_NS;
        loop {
            let inspected = run_command(self.program, &["inspect", "--format", "{{.State.Pid}}", &self.name]);
            match inspected.as_ref().map(|pid| pid.parse::<u32>()) {
                Ok(Ok(pid)) if pid > 0 => return Ok(pid),
                _ if MonotonicClock.now_ns() < deadline_ns => MonotonicClock.sleep(START_CHECK_INTERVAL_NS),
                Ok(_) => return Err(IsolateError::Container(format!("{} did not start within 30 s", self.name))),
                Err(_) => return inspected.map(|_| 0),
            }
        }
    }

    pub(super) fn describe(&self) -> Value {
        json!({ "program": self.program, "name": self.name })
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = run_command(self.program, &["rm", "--force", &self.name]);
    }
}

/// Imports the empty image where it is missing.
fn import_image(program: &str) -> Result<(), IsolateError> {
    if run_command(program, &["image", "inspect", IMAGE]).is_ok() {
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
    output_of(program, child.wait_with_output().map_err(failed)?).map(drop)
}

/// Runs `program` and returns its standard output.
fn run_command(program: &str, arguments: &[&str]) -> Result<String, IsolateError> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    output_of(program, output.map_err(|error| IsolateError::Container(format!("{program}: {error}")))?)
}

fn output_of(program: &str, output: std::process::Output) -> Result<String, IsolateError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(IsolateError::Container(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command_line(program: &'static str) -> String {
        let container = Container {
            program,
            name: "manometer-7-writer".to_owned(),
            parent: "/manometer-7/writer".to_owned(),
            folders: vec!["/work".to_owned(), "/mnt/data".to_owned()],
        };
        let arguments = container.arguments(Path::new("/opt/bin/manometer"), |path| path == "/usr").join(" ");
        std::mem::forget(container);
        arguments
    }

    #[test]
    fn a_container_is_in_its_group_and_mounts_the_hosts_programs() {
        let podman = command_line("podman");
        for part in [
            "--cgroup-manager cgroupfs run --rm --interactive",
            "--cgroup-parent /manometer-7/writer",
            "--volume /usr:/usr:ro --volume /opt/bin/manometer:/opt/bin/manometer:ro",
            "--volume /work:/work --volume /mnt/data:/mnt/data --workdir /work",
        ] {
            assert!(podman.contains(part), "`{part}` is not in: {podman}");
        }
        assert!(podman.ends_with("manometer-empty:latest /opt/bin/manometer"), "{podman}");
        assert!(command_line("docker").starts_with("run --rm"));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run_command("no-such-program-here", &["info"]).unwrap_err().to_string();
        assert!(error.contains("no-such-program-here"), "{error}");
    }
}
