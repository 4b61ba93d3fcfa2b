//! What a measured stretch took: time, processor time, sleeps, faults.

use std::time::Instant;

/// The time and the kernel's counts at one moment.
pub struct Usage {
    at: Instant,
    of_process: libc::rusage,
    counters: Vec<(&'static str, u64)>,
}

impl Usage {
    #[allow(clippy::disallowed_methods, reason = "a measuring program reads the clock")]
    pub fn now(counters: Option<recycle::Counters>) -> Self {
        // SAFETY: zeroes are a valid value, and the pointer is live.
        let of_process = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let counters = counters.iter().flat_map(|counters| counters.named()).collect();
        Self { at: Instant::now(), of_process, counters }
    }

    /// One JSON document about the time since: `accesses` is what was done in it, by `threads`, which waited so long for a
    /// processor that others had.
    pub fn report(&self, accesses: u64, threads: u64, waited_ns: u64, counters: Option<recycle::Counters>) -> String {
        let end = Self::now(counters);
        let seconds = (end.at - self.at).as_secs_f64();
        let of = |usage: &libc::rusage, time: fn(&libc::rusage) -> libc::timeval| {
            time(usage).tv_sec as f64 + time(usage).tv_usec as f64 / 1e6
        };
        let spent = |time| of(&end.of_process, time) - of(&self.of_process, time);
        let (user, system) = (spent(|usage| usage.ru_utime), spent(|usage| usage.ru_stime));
        let switches = end.of_process.ru_nvcsw - self.of_process.ru_nvcsw;
        let faults =
            end.of_process.ru_minflt + end.of_process.ru_majflt - self.of_process.ru_minflt - self.of_process.ru_majflt;
        let waited = waited_ns as f64 / 1e9;
        let asleep = 1.0 - (user + system + waited) / (seconds * threads as f64);
        let since = end.counters.iter().zip(&self.counters).map(|((name, after), (_, before))| (name, after - before));
        let counted: String = since.map(|(name, count)| format!(",\"{name}\":{count}")).collect();
        format!(
            "{{\"seconds\":{seconds},\"accesses\":{accesses},\"accesses_per_second\":{},\"user_s\":{user},\
             \"system_s\":{system},\"processor_wait_s\":{waited},\"share_asleep\":{asleep},\"voluntary_switches\":{switches},\
             \"kernel_faults\":{faults}{counted}}}",
            accesses as f64 / seconds
        )
    }
}

/// How long the calling thread has waited for a processor since it began, in nanoseconds.
pub fn waited_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().nth(1).unwrap().parse().unwrap()
}
