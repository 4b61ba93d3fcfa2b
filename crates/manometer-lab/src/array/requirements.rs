//! What a host needs for an array: permissions, programs, modules of the kernel.

use std::fs;
use std::path::Path;

use manometer_cache::RaidLevel;

use super::built_array::CacheKind;
use super::file_system::maker;
use super::spec::{self, ArraySpec};
use crate::{LabError, program};

/// Checks everything that an array needs, and names all that is missing.
pub(super) fn check(spec: &ArraySpec) -> Result<(), LabError> {
    if !rustix::process::geteuid().is_root() {
        return Err(LabError::Refused("building an array needs root".to_owned()));
    }
    let mut needed = vec![("blkid", "util-linux"), ("losetup", "util-linux"), ("wipefs", "util-linux")];
    let mut modules = Vec::new();
    let arrangement = &spec.arrangement;
    let levels = [Some(arrangement.origin.raid), arrangement.cache.as_ref().map(|cache| cache.raid)];
    for level in levels.into_iter().flatten() {
        if let Some((module, personality)) = personality(level) {
            needed.push(("mdadm", "mdadm"));
            modules.push((module, Module::Personality(personality)));
        }
    }
    match arrangement.cache.as_ref().map(spec::cache_kind).transpose()? {
        Some(CacheKind::Bcache) => {
            needed.push(("make-bcache", "bcache-tools"));
            modules.push(("bcache", Module::File("/sys/fs/bcache")));
        }
        Some(CacheKind::DmCache) => {
            needed.push(("dmsetup", "dmsetup"));
            modules.push(("dm-cache-smq", Module::Target("cache")));
        }
        None => {}
    }
    if let Some((file_system, _)) = &spec.mount {
        needed.push(maker(*file_system));
        needed.push(("mount", "mount"));
    }
    let mut missing: Vec<String> = needed
        .iter()
        .filter(|(program, _)| !program::is_installed(program))
        .map(|(program, package)| format!("`{program}` is not installed (package {package})"))
        .collect();
    let absent = modules.iter().filter(|(module, sign)| !sign.is_loaded_after(module));
    missing.extend(absent.map(|(module, _)| format!("the kernel has no module `{module}`")));
    missing.dedup();
    if missing.is_empty() { Ok(()) } else { Err(LabError::Refused(missing.join("; "))) }
}

/// The kernel's module for a RAID level, and its name in `/proc/mdstat`.
fn personality(level: RaidLevel) -> Option<(&'static str, &'static str)> {
    match level {
        RaidLevel::None => None,
        RaidLevel::Raid0 => Some(("raid0", "raid0")),
        RaidLevel::Raid1 => Some(("raid1", "raid1")),
        RaidLevel::Raid10 => Some(("raid10", "raid10")),
        RaidLevel::Raid5 => Some(("raid456", "raid5")),
    }
}

/// How a module that is there is known.
enum Module {
    /// By a file.
    File(&'static str),
    /// By a line of `/proc/mdstat`.
    Personality(&'static str),
    /// By a target of the device mapper.
    Target(&'static str),
}

impl Module {
    fn is_loaded_after(&self, module: &str) -> bool {
        if !self.is_loaded() {
            // It may be built in, or there may be no modprobe; what counts is what is there then.
            let _ = program::run("modprobe", &[module]);
        }
        self.is_loaded()
    }

    fn is_loaded(&self) -> bool {
        match self {
            Self::File(path) => Path::new(path).exists(),
            Self::Personality(name) => {
                fs::read_to_string("/proc/mdstat").is_ok_and(|text| text.contains(&format!("[{name}]")))
            }
            Self::Target(name) => program::run("dmsetup", &["targets"])
                .is_ok_and(|text| text.lines().any(|line| line.split_whitespace().next() == Some(*name))),
        }
    }
}
