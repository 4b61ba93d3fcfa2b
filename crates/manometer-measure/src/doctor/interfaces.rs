//! The I/O interfaces of the kernel, each tried on a file in the directory.

use super::{Check, CheckStatus};

/// The result of trying an interface: how it worked, or why not.
pub type Probe = Result<String, String>;

/// The results of all interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interfaces {
    /// Direct I/O.
    pub direct_io: Probe,
    /// Linux AIO.
    pub libaio: Probe,
    /// io_uring.
    pub io_uring: Probe,
    /// Writes that are durable when they return.
    pub dsync: Probe,
}

impl Interfaces {
    /// No interface could be tried, for `reason`.
    pub fn untried(reason: &str) -> Self {
        let none = || Err(reason.to_owned());
        Self { direct_io: none(), libaio: none(), io_uring: none(), dsync: none() }
    }

    pub(super) fn checks(&self) -> [Check; 4] {
        let why_direct = "without it the page cache is measured";
        let why_libaio = "many requests in flight if io_uring is forbidden";
        let why_uring = "many requests in flight with the least processor time";
        let why_dsync = "without it a durable write needs a sync as well";
        let remedy_uring = "sysctl kernel.io_uring_disabled=0, Linux 5.11 or later, or a container that allows it";
        [
            check("direct-io", "O_DIRECT", &self.direct_io, why_direct, "choose a directory on ext4 or XFS"),
            check("libaio", "Linux AIO", &self.libaio, why_libaio, "sysctl fs.aio-max-nr=1048576"),
            check("io-uring", "io_uring", &self.io_uring, why_uring, remedy_uring),
            check("dsync", "RWF_DSYNC", &self.dsync, why_dsync, "Linux 4.7 or later, and a directory on ext4 or XFS"),
        ]
    }
}

fn check(id: &'static str, name: &str, probe: &Probe, why: &'static str, remedy: &str) -> Check {
    match probe {
        Ok(how) => Check::new(id, CheckStatus::Ok, format!("{name}: {how}"), why),
        Err(reason) => Check::new(id, CheckStatus::Missing, format!("{name}: {reason}"), why).remedy(remedy),
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn an_interface_has_a_remedy_unless_it_works() {
        let mut interfaces = recorded::nvme().interfaces;
        assert!(interfaces.checks().iter().all(|check| check.status == CheckStatus::Ok && check.remedy.is_empty()));
        interfaces.io_uring = Err("Operation not permitted (os error 1)".to_owned());
        let check = interfaces.checks()[2].clone();
        assert_eq!(check.text, "io_uring: Operation not permitted (os error 1)");
        assert!(check.remedy.contains("io_uring_disabled"));
    }

    #[test]
    fn a_read_only_directory_is_the_reason_of_each() {
        let checks = Interfaces::untried("/data cannot be written").checks();
        assert!(checks.iter().all(|check| check.text.ends_with("/data cannot be written")));
    }
}
