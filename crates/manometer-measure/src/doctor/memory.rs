//! Swap.

use procfs::{Current as _, Meminfo};

use super::{Check, CheckStatus};
use crate::human;

const WHY: &str = "swapping adds I/O, possibly on this device";

/// The swap space of the host; `None` if the host does not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swap {
    /// Its size.
    pub total_bytes: Option<u64>,
    /// Its used part.
    pub used_bytes: Option<u64>,
}

impl Swap {
    pub(super) fn read() -> Self {
        let Ok(memory) = Meminfo::current() else { return Self::default() };
        let used = memory.swap_total.saturating_sub(memory.swap_free);
        Self { total_bytes: Some(memory.swap_total), used_bytes: Some(used) }
    }

    pub(super) fn check(&self) -> Check {
        match (self.total_bytes, self.used_bytes) {
            (Some(0), _) => Check::new("swap", CheckStatus::Ok, "none", WHY),
            (Some(total), Some(used)) => {
                let text = format!("{} of {} in use", human::bytes(used), human::bytes(total));
                Check::new("swap", CheckStatus::Limited, text, WHY).remedy("swapoff -a")
            }
            _ => Check::new("swap", CheckStatus::Missing, "unknown: the host does not show it", WHY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_is_limited_whether_used_or_not() {
        let swap = Swap { total_bytes: Some(2 << 30), used_bytes: Some(3 << 20) };
        assert_eq!(swap.check().text, "3 MiB of 2 GiB in use");
        assert_eq!(Swap { used_bytes: Some(0), ..swap }.check().status, CheckStatus::Limited);
        assert_eq!(Swap { total_bytes: Some(0), used_bytes: Some(0) }.check().status, CheckStatus::Ok);
        assert_eq!(Swap::default().check().status, CheckStatus::Missing);
    }
}
