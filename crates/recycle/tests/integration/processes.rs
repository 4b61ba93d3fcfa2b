//! What signals, forks and errors do to a whole process: each case is a process of its own.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};

use recycle::{Faults, Options, Policy, Region};

use crate::support::{self, PAGE, byte_at, filled, open, pages};

/// The environment variables with a child's case and its file.
const CASE: &str = "RECYCLE_CASE";
const FILE: &str = "RECYCLE_FILE";

const FILE_PAGES: u64 = 40;

/// The exit status of a child that saw what it should.
const RIGHT: i32 = 42;

/// What a case is called and what it does. It ends the process.
type Case = (&'static str, fn(&Path));

const CASES: &[Case] = &[
    ("fork", |path| fork(path, Faults::Signal)),
    ("fork-thread", |path| fork(path, Faults::Thread)),
    ("fork-end", |path| fork_end(path, Faults::Signal)),
    ("fork-end-thread", |path| fork_end(path, Faults::Thread)),
    ("truncated", |path| truncated(path, Faults::Signal)),
    ("truncated-thread", |path| truncated(path, Faults::Thread)),
    ("read-only", read_only),
    ("beyond", beyond),
    ("other-handler", other_handler),
    ("alarms", |path| alarms(path, Faults::Signal)),
    ("alarms-thread", |path| alarms(path, Faults::Thread)),
];

/// The child process: does nothing unless it is started as one.
#[test]
fn child() {
    let (Some(case), Some(path)) = (std::env::var_os(CASE), std::env::var_os(FILE)) else { return };
    let (_, run) = CASES.iter().find(|(name, _)| case == *name).unwrap();
    run(&PathBuf::from(path));
    leave(0);
}

fn run(case: &str) -> ExitStatus {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, filled(FILE_PAGES * PAGE)).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["processes::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .env(FILE, &path)
        .output()
        .unwrap()
        .status
}

fn leave(status: i32) -> ! {
    // SAFETY: it has no conditions.
    unsafe { libc::_exit(status) }
}

fn map(path: &Path, faults: Faults) -> recycle::Mapping {
    support::map(&open(path), &Options { faults, ..pages(4) }).unwrap()
}

fn check(mapping: &[u8]) {
    assert!((0..FILE_PAGES).all(|page| mapping[(page * PAGE + 1) as usize] == byte_at(page * PAGE + 1)));
}

fn fork(path: &Path, faults: Faults) {
    let mapping = map(path, faults);
    check(&mapping);
    // SAFETY: the child only reads memory and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let byte = std::hint::black_box(mapping[1]);
        leave(i32::from(byte));
    }
    let mut status = 0;
    // SAFETY: the status is live.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV, "{status:x}");
    check(&mapping);
    leave(RIGHT);
}

/// A child that ends what it inherited, and makes regions of its own, leaves the parent's as they are.
fn fork_end(path: &Path, faults: Faults) {
    let (pinned_path, third) = (path.with_extension("pinned"), path.with_extension("third"));
    for other in [&pinned_path, &third] {
        std::fs::copy(path, other).unwrap();
    }
    let mut mapping = map(path, faults);
    let pinned = Region::open(&open(&pinned_path), &Options { policy: Policy::CleanOnly, ..pages(4) }).unwrap();
    mapping.as_mut_slice().unwrap()[0] = 7;
    pinned.write_at(0, &[8]).unwrap();
    // SAFETY: no other thread of this process holds a lock now.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // The parent writes these files and this one, which the child can have, too, however it ends what it inherited.
        let inherited = support::map(&open(path), &pages(4)).unwrap();
        drop((mapping, pinned));
        for own in [inherited, map(&third, Faults::Signal), map(&pinned_path, faults)] {
            check(&own);
            check(&own);
        }
        leave(RIGHT);
    }
    let mut status = 0;
    // SAFETY: the status is live.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == RIGHT, "{status:x}");
    check(&mapping);
    mapping.sync().unwrap();
    pinned.sync().unwrap();
    assert_eq!([path, &pinned_path].map(|path| std::fs::read(path).unwrap()[0]), [7, 8]);
    drop((mapping, pinned));
    leave(RIGHT);
}

fn truncated(path: &Path, faults: Faults) {
    let mapping = map(path, faults);
    check(&mapping);
    open(path).set_len(3 * PAGE).unwrap();
    assert_eq!(mapping[PAGE as usize], byte_at(PAGE));
    std::hint::black_box(mapping[9 * PAGE as usize]);
}

fn read_only(path: &Path) {
    let mapping = support::map(&std::fs::File::open(path).unwrap(), &pages(4)).unwrap();
    check(&mapping);
    // SAFETY: the byte is there; the write is what must not go unnoticed.
    unsafe { mapping.as_mut_ptr().write_volatile(1) };
}

fn beyond(path: &Path) {
    let mapping = map(path, Faults::Signal);
    let end = mapping.as_mut_ptr().wrapping_add(mapping.len() + PAGE as usize);
    // SAFETY: the address is reserved by the mapping; the read is what must not go unnoticed.
    std::hint::black_box(unsafe { end.read_volatile() });
}

fn other_handler(path: &Path) {
    extern "C" fn handle(_: libc::c_int) {
        leave(RIGHT);
    }
    // SAFETY: the handler has the right signature and only exits.
    unsafe { libc::signal(libc::SIGBUS, handle as *const () as libc::sighandler_t) };
    let mapping = map(path, Faults::Signal);
    check(&mapping);
    let other = open(&path.with_extension("other"));
    other.set_len(PAGE).unwrap();
    let file = std::os::fd::AsRawFd::as_raw_fd(&other);
    let (length, protection) = (PAGE as usize, libc::PROT_READ);
    // SAFETY: a new mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, libc::MAP_SHARED, file, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    other.set_len(0).unwrap();
    // SAFETY: the address is mapped; the file has no such byte any more.
    std::hint::black_box(unsafe { start.cast::<u8>().read_volatile() });
}

static ALARMS: AtomicU64 = AtomicU64::new(0);

/// Signals whose handlers do not restart system calls, every half millisecond.
fn alarms(path: &Path, faults: Faults) {
    extern "C" fn count(_: libc::c_int) {
        ALARMS.fetch_add(1, Ordering::Relaxed);
    }
    let half = libc::timeval { tv_sec: 0, tv_usec: 500 };
    let timer = libc::itimerval { it_interval: half, it_value: half };
    // SAFETY: an action of zeroes is valid, the handler has the right signature, and all pointers are live.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()), 0);
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()), 0);
    }
    let mut mapping = map(path, faults);
    while ALARMS.load(Ordering::Relaxed) < 200 {
        check(&mapping);
        for page in 0..FILE_PAGES {
            mapping.as_mut_slice().unwrap()[(page * PAGE + 2) as usize] = page as u8;
        }
        mapping.sync().unwrap();
    }
    assert!((0..FILE_PAGES).all(|page| mapping[(page * PAGE + 2) as usize] == page as u8));
    leave(RIGHT);
}

#[test]
fn a_forked_child_does_not_see_zeroes() {
    assert_eq!(run("fork").code(), Some(RIGHT));
    assert_eq!(run("fork-thread").code(), Some(RIGHT));
}

#[test]
fn a_forked_child_can_end_what_it_inherited() {
    assert_eq!(run("fork-end").code(), Some(RIGHT));
    assert_eq!(run("fork-end-thread").code(), Some(RIGHT));
}

#[test]
fn an_access_that_cannot_go_on_receives_sigbus() {
    for case in ["truncated", "truncated-thread", "read-only", "beyond"] {
        let status = run(case);
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{case}: {status}");
    }
}

#[test]
fn a_signal_that_is_not_ours_reaches_the_handler_before_us() {
    assert_eq!(run("other-handler").code(), Some(RIGHT));
}

#[test]
fn signals_do_not_disturb_accesses() {
    assert_eq!(run("alarms").code(), Some(RIGHT));
    assert_eq!(run("alarms-thread").code(), Some(RIGHT));
}
