//! How long a program has listened to others: what it missed itself is not their silence.

/// The time in which messages were received. While the program was itself stopped, or waited for a disk, some may have
/// come that it has not read.
#[derive(Debug, Default)]
pub struct ListeningTime {
    total_ns: u64,
    until_ns: Option<u64>,
}

impl ListeningTime {
    /// Counts the time since the last call, of a long one only `most_ns`: how long a call usually takes to come.
    pub fn tick(&mut self, now_ns: u64, most_ns: u64) {
        let since_ns = self.until_ns.replace(now_ns).map_or(0, |until_ns| now_ns.saturating_sub(until_ns));
        self.total_ns += since_ns.min(most_ns);
    }

    /// The sum, in nanoseconds.
    pub fn total_ns(&self) -> u64 {
        self.total_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_absence_little_counts() {
        let mut listened = ListeningTime::default();
        for (now_ns, total_ns) in [(70, 0), (71, 1), (73, 3), (90, 5), (91, 6)] {
            listened.tick(now_ns, 2);
            assert_eq!(listened.total_ns(), total_ns, "at {now_ns}");
        }
    }
}
