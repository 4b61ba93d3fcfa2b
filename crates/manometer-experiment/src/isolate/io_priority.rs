//! Sets the I/O priority of a worker's process.

use std::io;

use crate::limits::PriorityClass;

/// Sets the I/O priority of the process `pid`. Threads that it starts afterwards inherit it.
pub(super) fn set_io_priority(pid: u32, class: PriorityClass) -> io::Result<()> {
    const WHO_PROCESS: libc::c_int = 1;
    // SAFETY: the call takes three numbers and touches no memory of ours; neither libc nor rustix wraps it.
    let status = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, pid, class.kernel_value()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_the_priority_of_a_missing_process_fails() {
        assert!(set_io_priority(i32::MAX as u32, "idle".parse().unwrap()).is_err());
    }
}
