//! The JSON output of `nvme smart-log` and `nvme id-ns`.

use serde_json::Value;

use super::json_number::number;
use super::reading::Reading;
use super::thermal::{KELVIN_AT_ZERO_CELSIUS, Thermal};

/// NVMe counts data in thousands of blocks of 512 bytes.
pub(super) const DATA_UNIT_BYTES: f64 = 512_000.0;

/// The health log; `None` if the text is not one.
pub(super) fn smart_log(text: &str) -> Option<Reading> {
    let log: Value = serde_json::from_str(text).ok()?;
    let field = |name: &str| number(log.get(name)?);
    let written = field("data_units_written")?;
    let thermal = Thermal::of_nvme(&log);
    Some(Reading {
        host_bytes_written: Some(written * DATA_UNIT_BYTES),
        host_bytes_read: field("data_units_read").map(|units| units * DATA_UNIT_BYTES),
        percentage_used: field("percent_used").or_else(|| field("percentage_used")),
        spare: field("avail_spare"),
        temperature: field("temperature").map(|kelvin| kelvin - KELVIN_AT_ZERO_CELSIUS),
        critical_warning: field("critical_warning"),
        throttle_time: thermal.throttle_time(),
        host_step_bytes: Some(DATA_UNIT_BYTES),
        thermal,
        ..Reading::default()
    })
}

/// The allocated space of the namespace (NUSE): its allocated blocks times the block size of the current format.
pub(super) fn used_bytes(text: &str) -> Option<f64> {
    let namespace: Value = serde_json::from_str(text).ok()?;
    let blocks = number(namespace.get("nuse")?)?;
    let format = namespace.get("flbas")?.as_u64()?;
    // Bits 0 to 3 of the format's number, and 5 and 6 above them.
    let index = usize::try_from((format & 0xf) | ((format >> 5 & 0x3) << 4)).ok()?;
    let exponent = namespace.get("lbafs")?.get(index)?.get("ds")?.as_u64().filter(|bits| *bits < 32)?;
    Some(blocks * (1_u64 << exponent) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_log_is_read_in_bytes_celsius_and_seconds() {
        let reading = smart_log(include_str!("samples/nvme_smart_log.json")).unwrap();
        assert_eq!(reading.host_bytes_written, Some(1_048_576.0 * 512_000.0));
        assert_eq!(reading.host_bytes_read, Some(2_000.0 * 512_000.0));
        assert_eq!((reading.temperature, reading.spare, reading.percentage_used), (Some(38.0), Some(100.0), Some(3.0)));
        assert_eq!((reading.throttle_time, reading.critical_warning), (Some(75.0), Some(0.0)));
        assert_eq!(reading.utilisation, None);
    }

    #[test]
    fn large_numbers_as_text_and_warnings_as_objects_are_understood() {
        let log = r#"{"critical_warning": {"value": 2}, "data_units_written": "1,000"}"#;
        let reading = smart_log(log).unwrap();
        assert_eq!((reading.host_bytes_written, reading.critical_warning), (Some(512_000_000.0), Some(2.0)));
    }

    #[test]
    fn the_used_part_of_a_namespace_is_counted_in_its_own_blocks() {
        assert_eq!(used_bytes(include_str!("samples/nvme_id_ns.json")), Some(244_190_646.0 * 4096.0));
    }

    #[test]
    fn a_text_that_is_not_a_log_is_not_read() {
        for text in ["", "Usage: nvme", "[]", "{}", r#"{"data_units_written": null}"#, r#"{"nuse": 1, "flbas": 9}"#] {
            assert_eq!(smart_log(text), None, "{text}");
            assert_eq!(used_bytes(text), None, "{text}");
        }
    }
}
