//! This process: its executable, and the signals that end it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manometer_measure::{Clock as _, MonotonicClock};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use crate::exit_status::ENDED_AT_ONCE;

/// Signals within this time of the first are the same request, in nanoseconds: a signal to the group of processes often
/// comes beside one to the process itself.
const SAME_SIGNAL_NS: u64 = 500_000_000;

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; a second one ends the program at once.
pub fn interruption() -> std::io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, ENDED_AT_ONCE.into(), Arc::clone(&interrupted))?;
        flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets. A later one has `clean_up` called, and ends the program at once.
pub fn interruption_or_else(clean_up: impl FnOnce() + Send + 'static) -> std::io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let flag = Arc::clone(&interrupted);
    let wait = move || {
        let mut first_ns = None;
        for _ in signals.forever() {
            let now_ns = MonotonicClock.now_ns();
            flag.store(true, Ordering::Relaxed);
            if now_ns - *first_ns.get_or_insert(now_ns) > SAME_SIGNAL_NS {
                break;
            }
        }
        clean_up();
        low_level::exit(ENDED_AT_ONCE.into());
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait)?;
    Ok(interrupted)
}

/// The path of this program, whose verb `worker` runs a workload.
pub fn executable() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("manometer"))
}
