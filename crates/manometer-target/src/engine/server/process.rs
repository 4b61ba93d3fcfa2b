//! A managed server: listens on a free port of the loopback address, and ends with this process.

use std::io;
use std::net::TcpListener;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use manometer_measure::directory::create_file;
use manometer_measure::{Clock as _, MonotonicClock};

use crate::engine::EngineError;

/// How long a started server may stay silent, in nanoseconds, unless it is reading its data.
const START_LIMIT_NS: u64 = 30_000_000_000;

/// Ports to try: another program may take one before the server does.
const PORTS_MAX: u32 = 5;

/// The interval between two polls whether a server answers or has ended, in nanoseconds.
const LOOK_NS: u64 = 5_000_000;

/// Lines of a server's log that an error quotes.
const LOG_LINES: usize = 5;

const STARTING: &str = "starting its server";

/// The readiness of a server.
pub(in crate::engine) enum Readiness {
    /// It does not answer yet.
    Silence,
    /// It is reading its data, which may take any time.
    Loading,
    /// It is ready; holds its process id.
    Ready(u32),
}

/// How to start a server.
pub(in crate::engine) struct Launch<'a> {
    pub(in crate::engine) engine: &'static str,
    pub(in crate::engine) program: &'static str,
    /// Debian's package of the program.
    pub(in crate::engine) package: &'static str,
    /// The file of its output.
    pub(in crate::engine) log: PathBuf,
    /// Finds a free port.
    pub(in crate::engine) port: fn() -> io::Result<u16>,
    /// Its arguments for a port.
    pub(in crate::engine) arguments: &'a dyn Fn(u16) -> Vec<String>,
    /// Probes the server at an address.
    pub(in crate::engine) probe: &'a dyn Fn(&str) -> Readiness,
}

/// A managed server.
#[derive(Debug)]
pub(in crate::engine) struct Process {
    engine: &'static str,
    child: Mutex<Child>,
    log: PathBuf,
    address: String,
    _keeper: ParentThread,
}

impl Launch<'_> {
    /// Starts the server and waits until it is ready.
    ///
    /// # Errors
    /// The program is not installed, ends at once, or is not ready in time.
    pub(in crate::engine) fn start(&self) -> Result<Process, EngineError> {
        let mut tries = 1;
        loop {
            let port = (self.port)().map_err(|error| self.failed(format!("no free port: {error}")))?;
            let process = self.spawn(port)?;
            match self.wait(&process)? {
                None => return Ok(process),
                Some(_) if tries < PORTS_MAX && port_was_taken(&self.log) => tries += 1,
                Some(status) => {
                    return Err(self.failed(format!("{}; its log ends:\n{}", describe(status), tail(&self.log))));
                }
            }
        }
    }

    /// Waits until the server is ready. Returns its status if it ended instead.
    fn wait(&self, process: &Process) -> Result<Option<ExitStatus>, EngineError> {
        let mut deadline_ns = MonotonicClock.now_ns() + START_LIMIT_NS;
        loop {
            if let Some(status) = process.ended() {
                return Ok(Some(status));
            }
            match (self.probe)(&process.address) {
                // Another process answers on the port: the started server will report that and end.
                Readiness::Ready(id) if id == process.id() => return Ok(None),
                Readiness::Loading => deadline_ns = MonotonicClock.now_ns() + START_LIMIT_NS,
                Readiness::Ready(_) | Readiness::Silence => {}
            }
            if MonotonicClock.now_ns() > deadline_ns {
                let limit_s = START_LIMIT_NS / 1_000_000_000;
                return Err(self.failed(format!("no answer in {limit_s} s; its log ends:\n{}", tail(&self.log))));
            }
            MonotonicClock.sleep(LOOK_NS);
        }
    }

    fn spawn(&self, port: u16) -> Result<Process, EngineError> {
        let not_writable = |reason| EngineError::NotWritable { path: self.log.clone(), reason };
        let log = create_file(&self.log).map_err(not_writable)?;
        let errors = log.try_clone().map_err(not_writable)?;
        let mut command = Command::new(self.program);
        command.args((self.arguments)(port)).stdin(Stdio::null()).stdout(log).stderr(errors);
        // Ctrl-C is meant for Manometer: the server must answer until the run has ended.
        command.process_group(0);
        kill_with_parent(&mut command);
        let (child, keeper) = spawn_from_parent_thread(command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                EngineError::NotInstalled { engine: self.engine, program: self.program, package: self.package }
            }
            _ => self.failed(error.to_string()),
        })?;
        let (log, address) = (self.log.clone(), format!("127.0.0.1:{port}"));
        Ok(Process { engine: self.engine, child: Mutex::new(child), log, address, _keeper: keeper })
    }

    fn failed(&self, text: String) -> EngineError {
        EngineError::Failed { engine: self.engine, doing: STARTING, text }
    }
}

impl Process {
    pub(in crate::engine) fn address(&self) -> &str {
        &self.address
    }

    pub(in crate::engine) fn id(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Fails if the server has ended by itself.
    pub(in crate::engine) fn check(&self) -> Result<(), EngineError> {
        let Some(status) = self.ended() else { return Ok(()) };
        let text = format!("its server at {}: {}; its log ends:\n{}", self.address, describe(status), tail(&self.log));
        Err(EngineError::Failed { engine: self.engine, doing: "answering", text })
    }

    /// Whether the last lines of its log contain `text`.
    pub(in crate::engine) fn log_contains(&self, text: &str) -> bool {
        tail(&self.log).contains(text)
    }

    /// Waits until the server has ended after a shutdown request; false if it has not within `limit_ns`.
    pub(in crate::engine) fn wait_for_end(&self, limit_ns: u64) -> bool {
        let deadline_ns = MonotonicClock.now_ns() + limit_ns;
        while self.ended().is_none() {
            if MonotonicClock.now_ns() > deadline_ns {
                return false;
            }
            MonotonicClock.sleep(LOOK_NS);
        }
        true
    }

    fn ended(&self) -> Option<ExitStatus> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait().ok().flatten()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Neither affects a server that has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Asks the kernel to kill the child when this process dies, even by SIGKILL.
fn kill_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let set_death_signal = move || {
        // SAFETY: prctl with these arguments touches no memory.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: getppid only reads.
        let still_there = unsafe { libc::getppid() } == parent as libc::pid_t;
        if still_there { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: between fork and exec the closure makes system calls only and allocates nothing.
    unsafe { command.pre_exec(set_death_signal) };
}

/// A thread that lives until it is released.
#[derive(Debug)]
struct ParentThread {
    release: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for ParentThread {
    fn drop(&mut self) {
        drop(self.release.take());
        self.thread.take().map(JoinHandle::join);
    }
}

/// Starts the child from a thread that stays alive: for the kernel, the end of the thread that started a child is its
/// parent's death.
fn spawn_from_parent_thread(mut command: Command) -> io::Result<(Child, ParentThread)> {
    let (born, birth) = channel();
    let (release, released) = channel();
    let thread = std::thread::Builder::new().name("server-keeper".to_owned()).spawn(move || {
        let _ = born.send(command.spawn());
        // The other end is never used, only dropped.
        let _ = released.recv();
    })?;
    let keeper = ParentThread { release: Some(release), thread: Some(thread) };
    let child = birth.recv().map_err(|_| io::Error::other("the thread that starts it ended"))??;
    Ok((child, keeper))
}

pub(in crate::engine) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A free port whose cluster bus port is free as well.
pub(in crate::engine) fn free_port_with_bus() -> io::Result<u16> {
    /// The offset of the port on which Redis listens for other nodes.
    const BUS: u16 = 10_000;
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        let port = free_port()?;
        let bus = port.checked_add(BUS);
        if bus.is_some_and(|bus| TcpListener::bind(("127.0.0.1", bus)).is_ok()) {
            return Ok(port);
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "none has the port 10,000 behind it free as well"))
}

fn port_was_taken(log: &Path) -> bool {
    tail(log).contains("in use")
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with status {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

/// The version of `program`: the first word of its `--version` output with a dotted number.
pub(in crate::engine) fn installed_version(program: &str) -> String {
    let Ok(output) = Command::new(program).arg("--version").stdin(Stdio::null()).output() else {
        return "not installed".to_owned();
    };
    version_in(&String::from_utf8_lossy(&output.stdout)).unwrap_or_else(|| "unknown".to_owned())
}

fn version_in(text: &str) -> Option<String> {
    let words = text.split_whitespace().map(|word| word.trim_start_matches("v="));
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    words.into_iter().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch<'a>(
        log: &Path,
        program: &'static str,
        arguments: &'a dyn Fn(u16) -> Vec<String>,
        probe: &'a dyn Fn(&str) -> Readiness,
    ) -> Launch<'a> {
        Launch {
            engine: "test",
            program,
            package: "the-package",
            log: log.to_owned(),
            port: free_port,
            arguments,
            probe,
        }
    }

    fn log() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let log = dir.path().join("engine.log");
        (dir, log)
    }

    #[test]
    fn versions_are_found_in_what_servers_say() {
        let redis = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae";
        assert_eq!(version_in(redis).as_deref(), Some("7.0.15"));
        assert_eq!(version_in("memcached 1.6.18").as_deref(), Some("1.6.18"));
        assert_eq!(version_in("no number"), None);
        assert_eq!(installed_version("no-such-program-of-ours"), "not installed");
    }

    #[test]
    fn a_program_that_is_missing_names_its_package() {
        let (_dir, log) = log();
        let text = launch(&log, "no-such-program-of-ours", &|_| Vec::new(), &|_| Readiness::Silence).start();
        let error = text.unwrap_err();
        assert!(matches!(error, EngineError::NotInstalled { .. }), "{error}");
        assert!(error.to_string().contains("Debian's package `the-package`"));
    }

    #[test]
    fn a_server_that_ends_at_once_is_quoted() {
        let (_dir, log) = log();
        let arguments = |_| vec!["-c".to_owned(), "echo bad directive; exit 3".to_owned()];
        let error = launch(&log, "sh", &arguments, &|_| Readiness::Silence).start().unwrap_err().to_string();
        assert!(error.contains("status 3") && error.contains("bad directive"), "{error}");
    }

    #[test]
    fn a_port_that_is_taken_is_not_tried_again() {
        let (_dir, log) = log();
        let ports = Mutex::new(Vec::new());
        let arguments = |port| {
            let mut ports = ports.lock().unwrap();
            ports.push(port);
            let script = if ports.len() < 3 { "echo Address already in use; exit 1" } else { "exec sleep 60" };
            vec!["-c".to_owned(), script.to_owned()]
        };
        let id = Mutex::new(None);
        // The first two end before the second probe; the third reports its process id.
        let probe = |_: &str| match (ports.lock().unwrap().len(), *id.lock().unwrap()) {
            (3, Some(id)) => Readiness::Ready(id),
            _ => Readiness::Silence,
        };
        let launch = launch(&log, "sh", &arguments, &probe);
        for _ in 0..2 {
            let process = launch.spawn(free_port().unwrap()).unwrap();
            assert!(launch.wait(&process).unwrap().is_some());
            assert!(port_was_taken(&log));
        }
        let process = launch.spawn(free_port().unwrap()).unwrap();
        *id.lock().unwrap() = Some(process.id());
        assert!(launch.wait(&process).unwrap().is_none());
        process.check().unwrap();
        let gone = process.id();
        drop(process);
        assert!(!Path::new(&format!("/proc/{gone}")).exists());
    }

    #[test]
    fn whoever_else_answers_at_the_port_is_not_taken_for_ours() {
        let (_dir, log) = log();
        let arguments = |_| vec!["-c".to_owned(), "sleep 0.1; exit 1".to_owned()];
        let launch = launch(&log, "sh", &arguments, &|_| Readiness::Ready(1));
        assert!(launch.start().unwrap_err().to_string().contains("status 1"));
    }
}
