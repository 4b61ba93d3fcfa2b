//! What a measured stretch took: time, processor time, sleeps, faults.

use std::time::Instant;

/// The time and the kernel's counts at one moment.
pub struct Usage {
    at: Instant,
    of_process: libc::rusage,
}

impl Usage {
    #[allow(clippy::disallowed_methods, reason = "a measuring program reads the clock")]
    pub fn now() -> Self {
        // SAFETY: zeroes are a valid value, and the pointer is live.
        let of_process = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        Self { at: Instant::now(), of_process }
    }

    /// One JSON document about the time since: `accesses` is what was done in it, by `threads`.
    pub fn report(&self, accesses: u64, threads: u64, counters: Option<recycle::Counters>) -> String {
        let end = Self::now();
        let seconds = (end.at - self.at).as_secs_f64();
        let of = |usage: &libc::rusage, time: fn(&libc::rusage) -> libc::timeval| {
            time(usage).tv_sec as f64 + time(usage).tv_usec as f64 / 1e6
        };
        let spent = |time| of(&end.of_process, time) - of(&self.of_process, time);
        let (user, system) = (spent(|usage| usage.ru_utime), spent(|usage| usage.ru_stime));
        let switches = end.of_process.ru_nvcsw - self.of_process.ru_nvcsw;
        let faults =
            end.of_process.ru_minflt + end.of_process.ru_majflt - self.of_process.ru_minflt - self.of_process.ru_majflt;
        let asleep = 1.0 - (user + system) / (seconds * threads as f64);
        let named = counters.iter().flat_map(|counters| counters.named());
        let counted: String = named.map(|(name, count)| format!(",\"{name}\":{count}")).collect();
        format!(
            "{{\"seconds\":{seconds},\"accesses\":{accesses},\"accesses_per_second\":{},\"user_s\":{user},\
             \"system_s\":{system},\"share_asleep\":{asleep},\"voluntary_switches\":{switches},\
             \"kernel_faults\":{faults}{counted}}}",
            accesses as f64 / seconds
        )
    }
}
