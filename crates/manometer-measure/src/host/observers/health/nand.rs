//! Bytes written to the flash: the counters of vendors whose logs are known.

use serde_json::Value;

use super::json_number::number;

const MIB: f64 = (1_u64 << 20) as f64;
const GIB: f64 = (1_u64 << 30) as f64;
const SECTOR_BYTES: f64 = 512.0;

/// SMART attributes of SATA devices that count what reached the flash, as smartctl's database of models
/// names them, and their units.
const NAND_ATTRIBUTES: [(&str, f64); 11] = [
    ("NAND_Writes_1GiB", GIB),
    ("NAND_Writes_GiB", GIB),
    ("NAND_Writes_32MiB", 32.0 * MIB),
    ("Total_NAND_Writes_GiB", GIB),
    ("Total_NAND_Prog_Ct_GiB", GIB),
    ("Lifetime_NAND_Prg_GiB", GIB),
    ("Flash_Writes_GiB", GIB),
    ("Flash_Writes_32MiB", 32.0 * MIB),
    ("Flash_Writes_LBAs", SECTOR_BYTES),
    ("Flash_Writes_Sectors", SECTOR_BYTES),
    ("Nand_Sectors_Written", SECTOR_BYTES),
];

/// Attributes that count the bytes written by the host.
const HOST_ATTRIBUTES: [(&str, f64); 4] = [
    ("Host_Writes_32MiB", 32.0 * MIB),
    ("Host_Writes_GiB", GIB),
    ("Host_Writes_MiB", MIB),
    ("Lifetime_Writes_GiB", GIB),
];

/// The attribute that counts the host's writes in logical blocks.
const HOST_BLOCKS: &str = "Total_LBAs_Written";

/// Micron and Crucial count pages: those written for the host, and those that the device wrote for itself.
const HOST_PAGES: &str = "Host_Program_Page_Count";
const OWN_PAGES: [&str; 2] = ["FTL_Program_Page_Count", "Bckgnd_Program_Page_Cnt"];

/// A count of bytes, and the steps in which it grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Count {
    pub bytes: f64,
    pub step: f64,
}

impl Count {
    fn of(units: f64, step: f64) -> Self {
        Self { bytes: units * step, step }
    }
}

/// One SMART attribute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Attribute<'a> {
    name: &'a str,
    raw: f64,
}

impl<'a> Attribute<'a> {
    pub(super) fn of(entry: &'a Value) -> Option<Self> {
        Some(Self { name: entry["name"].as_str()?, raw: number(&entry["raw"]["value"])? })
    }
}

fn raw(table: &[Attribute<'_>], name: &str) -> Option<f64> {
    table.iter().find(|attribute| attribute.name == name).map(|attribute| attribute.raw)
}

fn count(table: &[Attribute<'_>], known: &[(&str, f64)]) -> Option<Count> {
    known.iter().find_map(|(name, unit)| Some(Count::of(raw(table, name)?, *unit)))
}

pub(super) fn host_written(table: &[Attribute<'_>], block_bytes: Option<f64>) -> Option<Count> {
    count(table, &HOST_ATTRIBUTES).or_else(|| Some(Count::of(raw(table, HOST_BLOCKS)?, block_bytes?)))
}

/// Bytes written to the flash of a SATA device that counts them, or counts pages: then the host's bytes times all pages
/// divided by the host's pages.
pub(super) fn nand_written(table: &[Attribute<'_>], host_bytes: Option<f64>) -> Option<Count> {
    count(table, &NAND_ATTRIBUTES).or_else(|| {
        let host = raw(table, HOST_PAGES).filter(|pages| *pages > 0.0)?;
        let own = OWN_PAGES.iter().find_map(|name| raw(table, name))?;
        Some(Count::of(host + own, host_bytes? / host))
    })
}

/// A log of an NVMe device beyond the standard.
pub(super) struct Log {
    /// The arguments of `nvme`, without the device.
    pub arguments: &'static [&'static str],
    /// The PCI ids of the vendors whose devices have it; empty for a log that identifies itself.
    pub vendors: &'static [u32],
    /// Bytes written to the flash.
    pub written: fn(&Value) -> Option<Count>,
    /// Thermal throttling events.
    pub throttles: fn(&Value) -> Option<f64>,
}

/// The logs, tried in this order. The log of the Open Compute Project is kept by data-centre devices of most makers;
/// `nvme` checks that it is one.
pub(super) const NVME_LOGS: [Log; 2] = [
    Log {
        arguments: &["ocp", "smart-add-log", "-o", "json"],
        vendors: &[],
        written: ocp_written,
        throttles: ocp_throttles,
    },
    Log {
        arguments: &["intel", "smart-log-add", "-j"],
        vendors: &[0x8086, 0x025e],
        written: intel_written,
        throttles: intel_throttles,
    },
];

/// Bytes: 128 bits in two halves.
fn ocp_written(log: &Value) -> Option<Count> {
    let written = log.get("Physical media units written").or_else(|| log.get("physical_media_units_written"))?;
    Some(Count::of(number(written.get("hi")?)? * 2_f64.powi(64) + number(written.get("lo")?)?, 1.0))
}

fn ocp_throttles(log: &Value) -> Option<f64> {
    number(log.get("Number of Thermal throttling events")?)
}

/// Intel counts in 32 MiB.
fn intel_written(log: &Value) -> Option<Count> {
    Some(Count::of(number(log.get("Device stats")?.get("nand_bytes_written")?.get("raw")?)?, 32.0 * MIB))
}

fn intel_throttles(log: &Value) -> Option<f64> {
    number(log.get("Device stats")?.get("thermal_throttle_status")?.get("throttling_event_count")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn attributes(pairs: &[(&'static str, f64)]) -> Vec<Attribute<'static>> {
        pairs.iter().map(|&(name, raw)| Attribute { name, raw }).collect()
    }

    #[test]
    fn pages_of_micron_are_converted_to_bytes_by_their_ratio() {
        let table = attributes(&[("Host_Program_Page_Count", 100.0), ("FTL_Program_Page_Count", 150.0)]);
        assert_eq!(nand_written(&table, Some(1000.0)), Some(Count { bytes: 2500.0, step: 10.0 }));
        assert_eq!(nand_written(&table, None), None);
        let none = attributes(&[("Host_Program_Page_Count", 0.0), ("FTL_Program_Page_Count", 1.0)]);
        assert_eq!(nand_written(&none, Some(1000.0)), None);
    }

    #[test]
    fn host_writes_in_blocks_need_the_block_size() {
        let table = attributes(&[("Total_LBAs_Written", 8.0)]);
        assert_eq!(host_written(&table, Some(4096.0)), Some(Count { bytes: 32768.0, step: 4096.0 }));
        assert_eq!(host_written(&table, None), None);
        let coarse = Some(Count { bytes: 64.0 * MIB, step: 32.0 * MIB });
        assert_eq!(host_written(&attributes(&[("Host_Writes_32MiB", 2.0)]), None), coarse);
    }

    #[test]
    fn a_device_without_a_known_counter_has_none() {
        assert_eq!(nand_written(&attributes(&[("Wear_Leveling_Count", 5.0)]), Some(1.0)), None);
    }

    #[test]
    fn the_logs_of_nvme_devices_are_read_in_bytes() {
        let ocp: Value = serde_json::from_str(include_str!("samples/nvme_ocp.json")).unwrap();
        assert_eq!(ocp_written(&ocp), Some(Count { bytes: 527_805_403_860_992.0, step: 1.0 }));
        let intel: Value = serde_json::from_str(include_str!("samples/nvme_intel.json")).unwrap();
        assert_eq!(intel_written(&intel), Some(Count { bytes: 1_024.0 * 32.0 * MIB, step: 32.0 * MIB }));
        assert_eq!((ocp_written(&json!({})), intel_written(&json!({"Device stats": {}}))), (None, None));
        assert_eq!((ocp_throttles(&ocp), intel_throttles(&intel)), (Some(2.0), Some(5.0)));
        assert_eq!((ocp_throttles(&json!({})), intel_throttles(&json!({}))), (None, None));
    }
}
