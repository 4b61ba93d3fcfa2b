//! NVMe: the I/O hints of the namespace and the power-state transitions of the controller.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Check, CheckStatus, PROGRAM_TIMEOUT};
use crate::host::nvme_controllers;
use crate::program;

const WHY_HINTS: &str = "writes of these sizes avoid splits and copies in the device";
const WHY_POWER: &str = "a controller in a low power state answers late (APST)";

/// The facts about an NVMe disk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nvme {
    /// The preferred I/O sizes of the namespace.
    pub hints: Hints,
    /// The latency tolerance of each of its controllers; with multipath there are several.
    pub latency_tolerances: Vec<LatencyTolerance>,
}

/// The latency that power saving may add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyTolerance {
    /// The file with the setting.
    pub file: PathBuf,
    /// In microseconds, as the kernel shows it: `0` disables power saving, `any` or `auto` sets no limit. `None` if the
    /// controller has no transitions, or the kernel does not show it.
    pub us: Option<String>,
}

/// The preferred I/O sizes of a namespace, in logical blocks; `None` if it does not report them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    /// NOIOB: requests should not cross multiples of this.
    pub boundary_blocks: Option<u64>,
    /// NPWG: writes should be multiples of this.
    pub write_granularity_blocks: Option<u64>,
    /// NPWA: writes should begin at multiples of this.
    pub write_alignment_blocks: Option<u64>,
    /// NOWS: the optimal size of writes.
    pub optimal_write_blocks: Option<u64>,
    /// The source: `nvme id-ns`, or `sysfs`, which has only some of them.
    pub from: &'static str,
}

impl Nvme {
    pub(super) fn read(name: &str, sysfs: &Path) -> Option<Self> {
        if !name.starts_with("nvme") {
            return None;
        }
        let latency_tolerances = nvme_controllers(sysfs).iter().map(|folder| LatencyTolerance::of(folder)).collect();
        let device = format!("/dev/{name}");
        let answer = program::answer("nvme", &["id-ns", &device, "--output-format=json"], PROGRAM_TIMEOUT).ok();
        let hints = answer.and_then(|text| Hints::of_id_ns(&text)).unwrap_or_else(|| Hints::of_sysfs(sysfs));
        Some(Self { hints, latency_tolerances })
    }
}

impl LatencyTolerance {
    /// The tolerance of the controller whose directory in sysfs is `controller`.
    fn of(controller: &Path) -> Self {
        let file = controller.join("power/pm_qos_latency_tolerance_us");
        Self { us: fs::read_to_string(&file).ok().map(|text| text.trim().to_owned()), file }
    }

    fn text(&self) -> String {
        match self.us.as_deref() {
            Some("0") => "power-state transitions are off".to_owned(),
            Some(us) if us.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("low power states allowed, up to {us} us to wake")
            }
            Some(other) => format!("low power states allowed ({other})"),
            None => "power-state transitions unknown".to_owned(),
        }
    }
}

impl Hints {
    /// Parses the output of `nvme id-ns --output-format=json`.
    fn of_id_ns(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        // Bit 4 of NSFEAT says whether the preferred sizes are valid; they count from zero.
        let are_valid = number("nsfeat")? & 0x10 != 0;
        let preferred = |name: &str| number(name).filter(|_| are_valid).map(|blocks| blocks + 1);
        Some(Self {
            boundary_blocks: number("noiob").filter(|blocks| *blocks > 0),
            write_granularity_blocks: preferred("npwg"),
            write_alignment_blocks: preferred("npwa"),
            optimal_write_blocks: preferred("nows"),
            from: "nvme id-ns",
        })
    }

    /// The hints in sysfs: the kernel keeps the boundary and the optimal write size.
    fn of_sysfs(sysfs: &Path) -> Self {
        let queue = |file: &str| fs::read_to_string(sysfs.join("queue").join(file)).ok()?.trim().parse::<u64>().ok();
        let block_bytes = queue("logical_block_size").filter(|bytes| *bytes > 0);
        let blocks = |bytes: u64| block_bytes.map(|block| bytes / block);
        Self {
            boundary_blocks: queue("chunk_sectors").filter(|sectors| *sectors > 0).and_then(|it| blocks(it * 512)),
            optimal_write_blocks: queue("optimal_io_size").filter(|bytes| *bytes > 0).and_then(blocks),
            from: "sysfs",
            ..Self::default()
        }
    }

    fn text(&self) -> String {
        let all = [
            ("NOIOB", self.boundary_blocks),
            ("NPWG", self.write_granularity_blocks),
            ("NPWA", self.write_alignment_blocks),
            ("NOWS", self.optimal_write_blocks),
        ];
        let shown = all.map(|(name, blocks)| match blocks {
            Some(blocks) => format!("{name} {blocks}"),
            None => format!("{name} unknown"),
        });
        format!("{} blocks (by {})", shown.join(", "), self.from)
    }
}

/// The checks of the NVMe disks with their names. Without one, they do not apply.
pub(super) fn checks(nvme: &[(&str, &Nvme)]) -> [Check; 2] {
    if nvme.is_empty() {
        return [("nvme-hints", WHY_HINTS), ("nvme-power", WHY_POWER)]
            .map(|(id, why)| Check::new(id, CheckStatus::NotApplicable, "no NVMe disk below the directory", why));
    }
    [hints(nvme), power(nvme)]
}

fn hints(nvme: &[(&str, &Nvme)]) -> Check {
    let texts: Vec<String> = nvme.iter().map(|(name, nvme)| format!("{name}: {}", nvme.hints.text())).collect();
    let whole = nvme.iter().all(|(_, nvme)| nvme.hints.from == "nvme id-ns");
    let check = |status| Check::new("nvme-hints", status, texts.join("; "), WHY_HINTS);
    if whole {
        return check(CheckStatus::Ok);
    }
    check(CheckStatus::Limited).remedy("apt-get install nvme-cli, and run as root")
}

fn power(nvme: &[(&str, &Nvme)]) -> Check {
    let text = |(name, nvme): &(&str, &Nvme)| {
        let mut texts: Vec<String> = nvme.latency_tolerances.iter().map(LatencyTolerance::text).collect();
        texts.dedup();
        if texts.is_empty() {
            format!("{name}: no controller is visible")
        } else {
            format!("{name}: {}", texts.join(", "))
        }
    };
    let texts: Vec<String> = nvme.iter().map(text).collect();
    let all = || nvme.iter().flat_map(|(_, nvme)| &nvme.latency_tolerances);
    let allowing: Vec<String> = all()
        .filter(|one| one.us.as_deref().is_some_and(|us| us != "0"))
        .map(|one| format!("echo 0 > {}", one.file.display()))
        .collect();
    let is_unknown =
        nvme.iter().any(|(_, nvme)| nvme.latency_tolerances.is_empty()) || all().any(|one| one.us.is_none());
    let status = match (allowing.is_empty(), is_unknown) {
        (false, _) => CheckStatus::Limited,
        (true, true) => CheckStatus::Missing,
        (true, false) => CheckStatus::Ok,
    };
    let remedy = match (allowing.is_empty(), is_unknown) {
        (true, true) => "boot with nvme_core.default_ps_max_latency_us=0".to_owned(),
        _ => allowing.join("; "),
    };
    Check::new("nvme-power", status, texts.join("; "), WHY_POWER).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::super::device::nvme_disks;
    use super::super::recorded;
    use super::*;

    /// Cut from what nvme-cli 2.4 prints for a data-centre disk.
    const ID_NS: &str = r#"{"nsze":3750748848,"ncap":3750748848,"nuse":3750748848,"nsfeat":26,"nlbaf":1,
        "flbas":0,"noiob":256,"npwg":7,"npwa":7,"npdg":255,"npda":255,"nows":255}"#;

    #[test]
    fn the_namespace_is_read_and_counts_from_zero() {
        let hints = Hints::of_id_ns(ID_NS).unwrap();
        assert_eq!(hints.text(), "NOIOB 256, NPWG 8, NPWA 8, NOWS 256 blocks (by nvme id-ns)");
    }

    #[test]
    fn invalid_sizes_are_unknown() {
        let hints = Hints::of_id_ns(r#"{"nsfeat":0,"noiob":0,"npwg":0,"npwa":0,"nows":0}"#).unwrap();
        assert_eq!(hints.text(), "NOIOB unknown, NPWG unknown, NPWA unknown, NOWS unknown blocks (by nvme id-ns)");
        assert_eq!(Hints::of_id_ns("Permission denied"), None);
        assert_eq!(Hints::of_id_ns("{}"), None);
    }

    #[test]
    fn sysfs_has_the_boundary_and_the_optimal_size() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("queue")).unwrap();
        for (file, text) in
            [("logical_block_size", "4096\n"), ("chunk_sectors", "256\n"), ("optimal_io_size", "131072\n")]
        {
            fs::write(dir.path().join("queue").join(file), text).unwrap();
        }
        let hints = Hints::of_sysfs(dir.path());
        assert_eq!((hints.boundary_blocks, hints.optimal_write_blocks), (Some(32), Some(32)));
        assert_eq!(hints.write_alignment_blocks, None);
        assert_eq!(Hints::of_sysfs(Path::new("/none")), Hints { from: "sysfs", ..Hints::default() });
    }

    #[test]
    fn a_controller_with_low_power_states_has_a_remedy() {
        let disks = recorded::nvme().disks;
        let [hints, power] = checks(&nvme_disks(&disks));
        assert_eq!((hints.status, power.status), (CheckStatus::Limited, CheckStatus::Limited));
        let file = "/sys/block/nvme0n1/device/power/pm_qos_latency_tolerance_us";
        assert_eq!(power.remedy, format!("echo 0 > {file}"));
        let with = |us: &[Option<&str>]| {
            let mut disks = disks.clone();
            let one = |us: &Option<&str>| LatencyTolerance { file: file.into(), us: us.map(str::to_owned) };
            disks[0].nvme.as_mut().unwrap().latency_tolerances = us.iter().map(one).collect();
            checks(&nvme_disks(&disks))[1].clone()
        };
        assert_eq!(with(&[Some("0")]).status, CheckStatus::Ok);
        assert_eq!(with(&[Some("any")]).text, "nvme0n1: low power states allowed (any)");
        assert_eq!(with(&[None]).status, CheckStatus::Missing);
        assert_eq!(with(&[]).status, CheckStatus::Missing);
        assert_eq!(with(&[Some("0"), Some("0")]).text, "nvme0n1: power-state transitions are off");
        let one_of_two = with(&[Some("0"), Some("5")]);
        assert_eq!((one_of_two.status, one_of_two.remedy), (CheckStatus::Limited, format!("echo 0 > {file}")));
    }

    #[test]
    fn with_multipath_every_controller_of_the_subsystem_is_read() {
        let dir = tempfile::tempdir().unwrap();
        for (controller, us) in [("nvme0", "100000\n"), ("nvme1", "0\n")] {
            let power = dir.path().join("device").join(controller).join("power");
            fs::create_dir_all(&power).unwrap();
            fs::write(power.join("pm_qos_latency_tolerance_us"), us).unwrap();
        }
        let nvme = Nvme::read("nvme0n1", dir.path()).unwrap();
        let tolerances: Vec<Option<&str>> = nvme.latency_tolerances.iter().map(|one| one.us.as_deref()).collect();
        assert_eq!(tolerances, [Some("100000"), Some("0")]);
        assert_eq!(Nvme::read("sda", dir.path()), None);
    }

    #[test]
    fn other_disks_have_no_nvme_facts() {
        assert!(
            checks(&nvme_disks(&recorded::array().disks))
                .iter()
                .all(|check| check.status == CheckStatus::NotApplicable)
        );
    }
}
