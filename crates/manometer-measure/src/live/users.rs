//! Who uses storage, by `/proc/PID/io`.

use std::collections::HashMap;

use procfs::process::all_processes;
use serde::Serialize;

/// A process and what it moved to and from storage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct User {
    /// Its process id.
    pub pid: i32,
    /// Its command.
    pub command: String,
    /// Bytes it had fetched from storage each second.
    pub read_bytes_per_s: f64,
    /// Bytes it made dirty, to be written to storage, each second.
    pub write_bytes_per_s: f64,
}

impl User {
    /// All bytes each second.
    pub fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s + self.write_bytes_per_s
    }
}

/// What a process has moved since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moved {
    /// With the process id, the process: ids are used again.
    start_ticks: u64,
    read_bytes: u64,
    write_bytes: u64,
}

/// The processes at the last look.
#[derive(Debug, Default)]
pub(super) struct Users {
    last: HashMap<i32, Moved>,
}

impl Users {
    /// Who moved bytes in the `seconds` since the last look, and how many processes do not tell.
    pub(super) fn look(&mut self, seconds: Option<f64>) -> (Vec<User>, usize) {
        let (mut now, mut commands, mut hidden) = (HashMap::new(), HashMap::new(), 0);
        for process in all_processes().into_iter().flatten().flatten() {
            // A process that ends while it is looked at is no longer there.
            let Ok(stat) = process.stat() else { continue };
            match process.io() {
                Ok(io) => {
                    let moved =
                        Moved { start_ticks: stat.starttime, read_bytes: io.read_bytes, write_bytes: io.write_bytes };
                    now.insert(stat.pid, moved);
                    commands.insert(stat.pid, stat.comm);
                }
                Err(procfs::ProcError::PermissionDenied(_)) => hidden += 1,
                Err(_) => {}
            }
        }
        let users = seconds.map(|seconds| between(&self.last, &now, &commands, seconds)).unwrap_or_default();
        self.last = now;
        (users, hidden)
    }
}

fn between(
    last: &HashMap<i32, Moved>,
    now: &HashMap<i32, Moved>,
    commands: &HashMap<i32, String>,
    seconds: f64,
) -> Vec<User> {
    let user = |(pid, now): (&i32, &Moved)| {
        // A process that began since has moved all it has in that time.
        let none = Moved { read_bytes: 0, write_bytes: 0, ..*now };
        let last = last.get(pid).copied().filter(|last| last.start_ticks == now.start_ticks).unwrap_or(none);
        let rate = |now: u64, last: u64| now.saturating_sub(last) as f64 / seconds;
        let user = User {
            pid: *pid,
            command: commands.get(pid).cloned().unwrap_or_default(),
            read_bytes_per_s: rate(now.read_bytes, last.read_bytes),
            write_bytes_per_s: rate(now.write_bytes, last.write_bytes),
        };
        (user.bytes_per_s() > 0.0).then_some(user)
    };
    let mut users: Vec<User> = now.iter().filter_map(user).collect();
    users.sort_by(|one, other| other.bytes_per_s().total_cmp(&one.bytes_per_s()).then(one.pid.cmp(&other.pid)));
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(start_ticks: u64, read_bytes: u64, write_bytes: u64) -> Moved {
        Moved { start_ticks, read_bytes, write_bytes }
    }

    #[test]
    fn who_moved_most_comes_first_and_who_moved_nothing_not_at_all() {
        let last = HashMap::from([(1, moved(5, 100, 0)), (2, moved(5, 0, 0)), (3, moved(5, 7, 7))]);
        let now = HashMap::from([(1, moved(5, 300, 0)), (2, moved(5, 0, 1000)), (3, moved(5, 7, 7))]);
        let commands = HashMap::from([(1, "reader".to_owned()), (2, "writer".to_owned())]);
        let users = between(&last, &now, &commands, 2.0);
        let shown: Vec<(&str, f64, f64)> =
            users.iter().map(|user| (user.command.as_str(), user.read_bytes_per_s, user.write_bytes_per_s)).collect();
        assert_eq!(shown, [("writer", 0.0, 500.0), ("reader", 100.0, 0.0)]);
    }

    #[test]
    fn an_id_that_is_used_again_is_another_process() {
        let (last, now) = (HashMap::from([(1, moved(5, 900, 0))]), HashMap::from([(1, moved(6, 100, 0))]));
        assert_eq!(between(&last, &now, &HashMap::new(), 1.0)[0].read_bytes_per_s, 100.0);
    }
}
