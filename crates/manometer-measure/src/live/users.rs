//! Who uses storage, by `/proc/PID/io`.

use serde::Serialize;

use crate::host::process_io::{ProcessIo, ProcessIoTracker};

/// A process and what it moved to and from storage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct User {
    /// Its process id.
    pub pid: u32,
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

/// The processes, looked at again and again.
#[derive(Debug)]
pub(super) struct Users(ProcessIoTracker);

impl Users {
    pub(super) fn of_host() -> Self {
        Self(ProcessIoTracker::of_host())
    }

    /// Who moved bytes in the `seconds` since the last look, and how many processes do not tell.
    pub(super) fn look(&mut self, seconds: Option<f64>) -> (Vec<User>, usize) {
        let movers = self.0.read();
        let hidden = movers.iter().filter(|mover| mover.bytes.is_none()).count();
        (seconds.map(|seconds| users(movers, seconds)).unwrap_or_default(), hidden)
    }
}

/// Those who moved anything, those who moved most first.
fn users(movers: Vec<ProcessIo>, seconds: f64) -> Vec<User> {
    let user = |mover: ProcessIo| {
        let [read, written] = mover.bytes?;
        let (read_bytes_per_s, write_bytes_per_s) = (read as f64 / seconds, written as f64 / seconds);
        let user = User { pid: mover.pid, command: mover.command, read_bytes_per_s, write_bytes_per_s };
        (user.bytes_per_s() > 0.0).then_some(user)
    };
    let mut users: Vec<User> = movers.into_iter().filter_map(user).collect();
    users.sort_by(|one, other| other.bytes_per_s().total_cmp(&one.bytes_per_s()).then(one.pid.cmp(&other.pid)));
    users
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::process_io::tests::{process_io_of, process_stat};

    #[test]
    fn who_moved_most_comes_first_and_who_moved_nothing_not_at_all() {
        let looks = [
            vec![
                process_stat(1, 0, "reader", Some([100, 0])),
                process_stat(2, 0, "writer", Some([0, 0])),
                process_stat(3, 0, "idle", Some([7, 7])),
            ],
            vec![
                process_stat(1, 0, "reader", Some([300, 0])),
                process_stat(2, 0, "writer", Some([0, 1000])),
                process_stat(3, 0, "idle", Some([7, 7])),
            ],
        ];
        let users = users(process_io_of(&looks), 2.0);
        let shown: Vec<(&str, f64, f64)> =
            users.iter().map(|user| (user.command.as_str(), user.read_bytes_per_s, user.write_bytes_per_s)).collect();
        assert_eq!(shown, [("writer", 0.0, 500.0), ("reader", 100.0, 0.0)]);
    }

    #[test]
    fn a_parent_does_not_get_what_its_ended_children_moved() {
        let looks = [
            vec![process_stat(1, 0, "sh", Some([0, 0])), process_stat(2, 1, "tar", Some([0, 900]))],
            vec![process_stat(1, 0, "sh", Some([0, 1000]))],
        ];
        let users = users(process_io_of(&looks), 1.0);
        assert_eq!(users.len(), 1);
        assert_eq!((users[0].pid, users[0].write_bytes_per_s), (1, 100.0), "what nobody saw the child write");
    }
}
