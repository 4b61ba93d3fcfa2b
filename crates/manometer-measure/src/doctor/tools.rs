//! Tools that read the health of the device and trace the requests that reach it.

use std::env;
use std::path::Path;

use rustix::fs::{Access, access};

use super::{Check, CheckStatus};
use crate::capture::tracefs;

const WHY_HEALTH: &str = "only the device counts its wear and its own writes";
const WHY_TRACE: &str = "`manometer trace capture` needs them";

/// The installed tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    /// Whether `smartctl` is installed.
    pub smartctl: bool,
    /// Whether `nvme` is installed.
    pub nvme: bool,
    /// Whether tracefs is mounted, has block events, and can be used by this user; else the reason.
    pub block_events: Result<(), String>,
}

impl Tools {
    pub(super) fn read() -> Self {
        Self {
            smartctl: is_installed("smartctl"),
            nvme: is_installed("nvme"),
            block_events: tracefs::find().map(drop).map_err(|error| error.to_string()),
        }
    }

    pub(super) fn checks(&self) -> [Check; 2] {
        let new = |id, status, text: &str, why| Check::new(id, status, text, why);
        let health = match (self.smartctl, self.nvme) {
            (true, true) => new("device-health", CheckStatus::Ok, "smartctl and nvme are installed", WHY_HEALTH),
            (true, false) => new("device-health", CheckStatus::Ok, "smartctl is installed, nvme is not", WHY_HEALTH),
            (false, true) => {
                new("device-health", CheckStatus::Limited, "nvme is installed, smartctl is not", WHY_HEALTH)
            }
            (false, false) => {
                new("device-health", CheckStatus::Missing, "neither smartctl nor nvme is installed", WHY_HEALTH)
            }
        };
        let missing = "apt-get install smartmontools nvme-cli";
        let health = if self.smartctl && self.nvme { health } else { health.remedy(missing) };
        let trace = match &self.block_events {
            Ok(()) => new("block-trace", CheckStatus::Ok, "tracefs has block events", WHY_TRACE),
            Err(reason) => new("block-trace", CheckStatus::Missing, reason, WHY_TRACE).remedy(tracefs::REMEDY),
        };
        [health, trace]
    }
}

fn is_installed(program: &str) -> bool {
    let folders = env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let system = [Path::new("/usr/sbin"), Path::new("/sbin")].map(Path::to_owned);
    folders.iter().chain(&system).any(|folder| access(folder.join(program), Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_has_a_remedy() {
        let none = Tools { smartctl: false, nvme: false, block_events: Err("tracefs is not mounted".to_owned()) };
        let [health, trace] = none.checks();
        assert_eq!((health.status, trace.status), (CheckStatus::Missing, CheckStatus::Missing));
        assert!(health.remedy.contains("smartmontools") && trace.remedy.contains("tracefs"));
        let all = Tools { smartctl: true, nvme: true, block_events: Ok(()) };
        assert!(all.checks().iter().all(|check| check.status == CheckStatus::Ok && check.remedy.is_empty()));
        assert!(is_installed("sh") && !is_installed("manometer-no-such-program"));
    }
}
