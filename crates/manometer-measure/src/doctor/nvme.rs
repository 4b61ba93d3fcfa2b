//! NVMe: what the namespace says of itself, and whether the controller may doze.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Check, CheckStatus, PATIENCE};
use crate::host::nvme_controllers;
use crate::program;

const WHY_HINTS: &str = "writes of such sizes spare the flash copies and splits";
const WHY_POWER: &str = "a controller that dozes answers late (APST)";

/// What only NVMe disks have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nvme {
    /// What the namespace prefers.
    pub hints: Hints,
    /// How late each of its controllers may answer to save power; with multipath there are several.
    pub latency_tolerances: Vec<LatencyTolerance>,
}

/// The latency that power saving may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyTolerance {
    /// The file that says and changes it.
    pub file: PathBuf,
    /// In microseconds, as the kernel says it: `0` is no power saving, `any` or `auto` no limit of ours. Nothing where
    /// the controller has no transitions, or the kernel does not tell.
    pub us: Option<String>,
}

/// What a namespace prefers, in logical blocks; nothing where it does not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    /// NOIOB: requests should not cross multiples of this.
    pub boundary_blocks: Option<u64>,
    /// NPWG: writes should be multiples of this.
    pub write_granularity_blocks: Option<u64>,
    /// NPWA: writes should begin at multiples of this.
    pub write_alignment_blocks: Option<u64>,
    /// NOWS: the size of the writes that it likes best.
    pub optimal_write_blocks: Option<u64>,
    /// Where this is from: `nvme id-ns`, or `sysfs`, which does not know all.
    pub from: &'static str,
}

impl Nvme {
    pub(super) fn read(name: &str, sysfs: &Path) -> Option<Self> {
        if !name.starts_with("nvme") {
            return None;
        }
        let latency_tolerances = nvme_controllers(sysfs).iter().map(|folder| LatencyTolerance::of(folder)).collect();
        let device = format!("/dev/{name}");
        let told = program::answer("nvme", &["id-ns", &device, "--output-format=json"], PATIENCE).ok();
        let hints = told.and_then(|text| Hints::of_id_ns(&text)).unwrap_or_else(|| Hints::of_sysfs(sysfs));
        Some(Self { hints, latency_tolerances })
    }
}

impl LatencyTolerance {
    /// What the controller whose folder in sysfs is `controller` says.
    fn of(controller: &Path) -> Self {
        let file = controller.join("power/pm_qos_latency_tolerance_us");
        Self { us: fs::read_to_string(&file).ok().map(|text| text.trim().to_owned()), file }
    }

    fn text(&self) -> String {
        match self.us.as_deref() {
            Some("0") => "power-state transitions are off".to_owned(),
            Some(us) if us.bytes().all(|byte| byte.is_ascii_digit()) => format!("may doze, up to {us} us to wake"),
            Some(other) => format!("may doze ({other})"),
            None => "transitions not told".to_owned(),
        }
    }
}

impl Hints {
    /// Reads what `nvme id-ns --output-format=json` prints.
    fn of_id_ns(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        // Bit 4 of NSFEAT says whether the preferred sizes mean anything; they count from zero.
        let means = number("nsfeat")? & 0x10 != 0;
        let preferred = |name: &str| number(name).filter(|_| means).map(|blocks| blocks + 1);
        Some(Self {
            boundary_blocks: number("noiob").filter(|blocks| *blocks > 0),
            write_granularity_blocks: preferred("npwg"),
            write_alignment_blocks: preferred("npwa"),
            optimal_write_blocks: preferred("nows"),
            from: "nvme id-ns",
        })
    }

    /// What the kernel made of them: it keeps the boundary and the best write size.
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
            None => format!("{name} not told"),
        });
        format!("{} blocks (by {})", shown.join(", "), self.from)
    }
}

/// The checks of the NVMe disks with their names. Without one, both are missing.
pub(super) fn checks(nvme: &[(&str, &Nvme)]) -> [Check; 2] {
    if nvme.is_empty() {
        return [("nvme-hints", WHY_HINTS), ("nvme-power", WHY_POWER)]
            .map(|(id, why)| Check::new(id, CheckStatus::Missing, "no NVMe disk below the folder", why));
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
    check(CheckStatus::Limited).remedy("apt-get install nvme-cli, and ask as root")
}

fn power(nvme: &[(&str, &Nvme)]) -> Check {
    let text = |(name, nvme): &(&str, &Nvme)| {
        let mut texts: Vec<String> = nvme.latency_tolerances.iter().map(LatencyTolerance::text).collect();
        texts.dedup();
        if texts.is_empty() { format!("{name}: no controller shows") } else { format!("{name}: {}", texts.join(", ")) }
    };
    let texts: Vec<String> = nvme.iter().map(text).collect();
    let all = || nvme.iter().flat_map(|(_, nvme)| &nvme.latency_tolerances);
    let dozing: Vec<String> = all()
        .filter(|one| one.us.as_deref().is_some_and(|us| us != "0"))
        .map(|one| format!("echo 0 > {}", one.file.display()))
        .collect();
    let untold = nvme.iter().any(|(_, nvme)| nvme.latency_tolerances.is_empty()) || all().any(|one| one.us.is_none());
    let status = match (dozing.is_empty(), untold) {
        (false, _) => CheckStatus::Limited,
        (true, true) => CheckStatus::Missing,
        (true, false) => CheckStatus::Ok,
    };
    let remedy = match (dozing.is_empty(), untold) {
        (true, true) => "boot with nvme_core.default_ps_max_latency_us=0".to_owned(),
        _ => dozing.join("; "),
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
    fn sizes_that_mean_nothing_are_not_told() {
        let hints = Hints::of_id_ns(r#"{"nsfeat":0,"noiob":0,"npwg":0,"npwa":0,"nows":0}"#).unwrap();
        assert_eq!(hints.text(), "NOIOB not told, NPWG not told, NPWA not told, NOWS not told blocks (by nvme id-ns)");
        assert_eq!(Hints::of_id_ns("Permission denied"), None);
        assert_eq!(Hints::of_id_ns("{}"), None);
    }

    #[test]
    fn sysfs_knows_the_boundary_and_the_best_size() {
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
    fn a_controller_that_may_doze_is_told_how_to_stay_awake() {
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
        assert_eq!(with(&[Some("any")]).text, "nvme0n1: may doze (any)");
        assert_eq!(with(&[None]).status, CheckStatus::Missing);
        assert_eq!(with(&[]).status, CheckStatus::Missing);
        assert_eq!(with(&[Some("0"), Some("0")]).text, "nvme0n1: power-state transitions are off");
        let one_of_two = with(&[Some("0"), Some("5")]);
        assert_eq!((one_of_two.status, one_of_two.remedy), (CheckStatus::Limited, format!("echo 0 > {file}")));
    }

    #[test]
    fn with_multipath_every_controller_below_the_subsystem_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        for (controller, us) in [("nvme0", "100000\n"), ("nvme1", "0\n")] {
            let power = dir.path().join("device").join(controller).join("power");
            fs::create_dir_all(&power).unwrap();
            fs::write(power.join("pm_qos_latency_tolerance_us"), us).unwrap();
        }
        let nvme = Nvme::read("nvme0n1", dir.path()).unwrap();
        let told: Vec<Option<&str>> = nvme.latency_tolerances.iter().map(|one| one.us.as_deref()).collect();
        assert_eq!(told, [Some("100000"), Some("0")]);
        assert_eq!(Nvme::read("sda", dir.path()), None);
    }

    #[test]
    fn another_disk_has_none_of_it() {
        assert!(checks(&nvme_disks(&recorded::array().disks)).iter().all(|check| check.status == CheckStatus::Missing));
    }
}
