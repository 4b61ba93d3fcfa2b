//! The output of `smartctl --json` for SATA, SAS and NVMe devices.

use serde_json::Value;

use super::json_number::number;
use super::nand::{self, Count};
use super::nvme::DATA_UNIT_BYTES;
use super::reading::Reading;
use super::thermal::Thermal;

/// The bits of the exit status that mean that nothing was read: an invalid request, and a device that cannot be opened.
/// The other bits report failed commands and the health of the device.
const NOTHING_READ: u64 = 0b11;

/// The reading in `text`.
///
/// # Errors
/// The message of `smartctl`, for people.
pub(super) fn read(text: &str) -> Result<Reading, String> {
    let all: Value = serde_json::from_str(text).map_err(|_| "it printed no JSON".to_owned())?;
    let status = all["smartctl"]["exit_status"].as_u64().ok_or("its JSON has an unknown form")?;
    if status & NOTHING_READ != 0 {
        return Err(message(&all));
    }
    let mut reading = [nvme(&all), ata(&all), scsi(&all)].into_iter().flatten().next().unwrap_or_default();
    reading.temperature = reading.temperature.or_else(|| number(&all["temperature"]["current"]));
    if reading.is_empty() {
        return Err(message(&all));
    }
    Ok(reading)
}

fn message(all: &Value) -> String {
    let messages = all["smartctl"]["messages"].as_array();
    let text = messages.and_then(|messages| messages.iter().find_map(|message| message["string"].as_str()));
    text.unwrap_or("the device shows no counters").to_owned()
}

fn nvme(all: &Value) -> Option<Reading> {
    let log = all.get("nvme_smart_health_information_log")?;
    let field = |name: &str| number(log.get(name)?);
    let bytes = |name: &str| field(name).map(|units| units * DATA_UNIT_BYTES);
    let thermal = Thermal::of_nvme(log);
    Some(Reading {
        host_bytes_written: bytes("data_units_written"),
        host_bytes_read: bytes("data_units_read"),
        percentage_used: field("percentage_used"),
        spare: field("available_spare"),
        temperature: field("temperature"),
        critical_warning: field("critical_warning"),
        throttle_time: thermal.throttle_time(),
        utilisation: number(&all["nvme_namespaces"][0]["utilization"]["bytes"]),
        host_step_bytes: field("data_units_written").map(|_| DATA_UNIT_BYTES),
        thermal,
        ..Reading::default()
    })
}

fn ata(all: &Value) -> Option<Reading> {
    let table = all["ata_smart_attributes"]["table"].as_array();
    let pages = all["ata_device_statistics"]["pages"].as_array();
    if table.is_none() && pages.is_none() {
        return None;
    }
    let table: Vec<nand::Attribute<'_>> = table.into_iter().flatten().filter_map(nand::Attribute::of).collect();
    let statistics: Vec<&Value> =
        pages.into_iter().flatten().filter_map(|page| page["table"].as_array()).flatten().collect();
    let statistic = |name: &str| {
        let entry = statistics.iter().find(|entry| entry["name"] == name)?;
        entry["flags"]["valid"].as_bool().unwrap_or(true).then(|| number(&entry["value"])).flatten()
    };
    let block_bytes = number(&all["logical_block_size"]);
    let sectors = |name: &str| Some(statistic(name)? * block_bytes?);
    let in_sectors = || Some(Count { bytes: sectors("Logical Sectors Written")?, step: block_bytes? });
    let host = in_sectors().or_else(|| nand::host_written(&table, block_bytes));
    let flash = nand::nand_written(&table, host.map(|host| host.bytes));
    let over_limit = number(&all["temperature"]["lifetime_over_limit_minutes"]);
    Some(Reading {
        host_bytes_written: host.map(|host| host.bytes),
        host_step_bytes: host.map(|host| host.step),
        host_bytes_read: sectors("Logical Sectors Read"),
        nand_bytes_written: flash.map(|flash| flash.bytes),
        nand_step_bytes: flash.map(|flash| flash.step),
        thermal: Thermal::of_minutes_over_limit(over_limit.or_else(|| statistic("Time in Over-Temperature"))),
        percentage_used: statistic("Percentage Used Endurance Indicator"),
        ..Reading::default()
    })
}

fn scsi(all: &Value) -> Option<Reading> {
    let used = number(&all["scsi_percentage_used_endurance_indicator"])?;
    Some(Reading { percentage_used: Some(used), ..Reading::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = (1_u64 << 30) as f64;

    #[test]
    fn a_sata_device_has_host_and_nand_writes() {
        let reading = read(include_str!("samples/smartctl_sata.json")).unwrap();
        assert_eq!(reading.host_bytes_written, Some(4_000_000_000.0 * 512.0));
        assert_eq!(reading.nand_bytes_written, Some(2_500.0 * GIB));
        assert_eq!((reading.host_step_bytes, reading.nand_step_bytes), (Some(512.0), Some(GIB)));
        assert_eq!(reading.thermal.over_limit_time, Some(180.0));
        assert_eq!((reading.percentage_used, reading.temperature), (Some(4.0), Some(31.0)));
    }

    #[test]
    fn an_nvme_device_has_its_utilisation_as_well() {
        let reading = read(include_str!("samples/smartctl_nvme.json")).unwrap();
        assert_eq!(reading.host_bytes_written, Some(62_786_553.0 * 512_000.0));
        assert_eq!((reading.spare, reading.utilisation), (Some(100.0), Some(194_350_313_472.0)));
        assert_eq!((reading.nand_bytes_written, reading.host_step_bytes), (None, Some(512_000.0)));
        assert_eq!((reading.thermal.critical_time, reading.throttle_time), (Some(60.0), None));
    }

    #[test]
    fn a_device_that_cannot_be_opened_is_refused_with_its_message() {
        let refused = read(include_str!("samples/smartctl_refused.json")).unwrap_err();
        assert_eq!(refused, "/dev/vda: Unable to detect device type");
        let denied = r#"{"smartctl": {"exit_status": 2, "messages": [
            {"string": "Smartctl open device: /dev/sda failed: Permission denied", "severity": "error"}]}}"#;
        assert_eq!(read(denied).unwrap_err(), "Smartctl open device: /dev/sda failed: Permission denied");
    }

    #[test]
    fn bits_of_failed_commands_or_failing_disks_do_not_hide_a_reading() {
        let sample = include_str!("samples/smartctl_sata.json");
        for status in [4, 8, 64, 4 | 16 | 128] {
            let text = sample.replace("\"exit_status\": 0", &format!("\"exit_status\": {status}"));
            assert!(read(&text).is_ok(), "{status}");
        }
        for status in [1, 2, 3, 2 | 64] {
            let text = sample.replace("\"exit_status\": 0", &format!("\"exit_status\": {status}"));
            assert_eq!(read(&text).unwrap_err(), "the device shows no counters", "{status}");
        }
    }

    #[test]
    fn an_invalid_answer_is_refused() {
        assert_eq!(read("").unwrap_err(), "it printed no JSON");
        assert_eq!(read("{}").unwrap_err(), "its JSON has an unknown form");
        let empty = r#"{"smartctl": {"exit_status": 0}}"#;
        assert_eq!(read(empty).unwrap_err(), "the device shows no counters");
    }
}
