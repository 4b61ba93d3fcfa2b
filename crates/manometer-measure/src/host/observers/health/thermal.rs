//! Thermal throttling, time above temperature limits, and temperature sensors of a device.

use serde_json::Value;

use super::json_number::number;
use crate::samples::Column;

pub(super) const KELVIN_AT_ZERO_CELSIUS: f64 = 273.0;

/// The most sensors of an NVMe device.
const SENSORS: usize = 8;

const SECONDS_A_MINUTE: f64 = 60.0;

/// The counters in the life of a device and the current values of its sensors; what it does not report is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Thermal {
    pub light_throttles: Option<f64>,
    pub heavy_throttles: Option<f64>,
    pub light_throttle_time: Option<f64>,
    pub heavy_throttle_time: Option<f64>,
    pub throttle_events: Option<f64>,
    pub warning_time: Option<f64>,
    pub critical_time: Option<f64>,
    pub over_limit_time: Option<f64>,
    pub sensors: [Option<f64>; SENSORS],
}

pub(super) fn columns() -> Vec<Column> {
    let (smart, log) = ("smartctl -j, nvme smart-log", "nvme smart-log");
    let vendor = "nvme ocp smart-add-log, nvme intel smart-log-add";
    let counts = [
        ("light_throttles", "", "Transitions to light throttling in the life of the device.", log),
        ("heavy_throttles", "", "Transitions to heavy throttling in the life of the device.", log),
        ("light_throttle_time", "s", "Time of light throttling in the life of the device.", log),
        ("heavy_throttle_time", "s", "Time of heavy throttling in the life of the device.", log),
        ("throttle_events", "", "Thermal throttling events in the life of the device, from the vendor's log.", vendor),
        ("warning_time", "s", "Time above the warning temperature in the life of the device, in whole minutes.", smart),
        (
            "critical_time",
            "s",
            "Time above the critical temperature in the life of the device, in whole minutes.",
            smart,
        ),
        (
            "over_limit_time",
            "s",
            "Time above the specified temperature in the life of the device, in whole minutes.",
            "smartctl -j",
        ),
    ];
    let counts = counts.map(|(name, unit, meaning, from)| Column::new(name, unit).meaning(meaning).from(from));
    let sensor = |number| {
        let column = Column::new(format!("temperature_sensor{number}"), "°C");
        column.meaning("Temperature of this sensor of the device.").from(smart)
    };
    counts.into_iter().chain((1..=SENSORS).map(sensor)).collect()
}

impl Thermal {
    /// From the health log of an NVMe device: `nvme` prints numbered sensors, `smartctl` a list.
    pub(super) fn of_nvme(log: &Value) -> Self {
        let field = |name: &str| number(log.get(name)?);
        let minutes = |name: &str| field(name).map(|minutes| minutes * SECONDS_A_MINUTE);
        let numbered = |place: usize| {
            let kelvin = field(&format!("temperature_sensor_{}", place + 1)).filter(|kelvin| *kelvin > 0.0)?;
            Some(kelvin - KELVIN_AT_ZERO_CELSIUS)
        };
        let listed = |place: usize| number(log.get("temperature_sensors")?.get(place)?);
        Self {
            light_throttles: field("thm_temp1_trans_count"),
            heavy_throttles: field("thm_temp2_trans_count"),
            light_throttle_time: field("thm_temp1_total_time"),
            heavy_throttle_time: field("thm_temp2_total_time"),
            warning_time: minutes("warning_temp_time"),
            critical_time: minutes("critical_comp_time"),
            sensors: std::array::from_fn(|place| numbered(place).or_else(|| listed(place))),
            ..Self::default()
        }
    }

    /// From the statistics of a SATA device, in minutes.
    pub(super) fn of_minutes_over_limit(minutes: Option<f64>) -> Self {
        Self { over_limit_time: minutes.map(|minutes| minutes * SECONDS_A_MINUTE), ..Self::default() }
    }

    /// The time of throttling, light and heavy.
    pub(super) fn throttle_time(&self) -> Option<f64> {
        Some(self.light_throttle_time? + self.heavy_throttle_time?)
    }

    /// The values in the order of [`columns`].
    pub(super) fn values(&self) -> Vec<Option<f64>> {
        self.counts().into_iter().chain(self.sensors).collect()
    }

    fn counts(&self) -> [Option<f64>; 8] {
        [
            self.light_throttles,
            self.heavy_throttles,
            self.light_throttle_time,
            self.heavy_throttle_time,
            self.throttle_events,
            self.warning_time,
            self.critical_time,
            self.over_limit_time,
        ]
    }

    /// Of two disks: the sums of counters, so that the growth of either shows, and the warmer of their sensors.
    pub(super) fn merge(&self, other: &Self) -> Self {
        let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        let warmer = |place: usize| Some(self.sensors[place]?.max(other.sensors[place]?));
        Self {
            light_throttles: sum(self.light_throttles, other.light_throttles),
            heavy_throttles: sum(self.heavy_throttles, other.heavy_throttles),
            light_throttle_time: sum(self.light_throttle_time, other.light_throttle_time),
            heavy_throttle_time: sum(self.heavy_throttle_time, other.heavy_throttle_time),
            throttle_events: sum(self.throttle_events, other.throttle_events),
            warning_time: sum(self.warning_time, other.warning_time),
            critical_time: sum(self.critical_time, other.critical_time),
            over_limit_time: sum(self.over_limit_time, other.over_limit_time),
            sensors: std::array::from_fn(warmer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tools_have_counts_seconds_and_celsius() {
        let by_nvme = Thermal::of_nvme(&serde_json::from_str(include_str!("samples/nvme_smart_log.json")).unwrap());
        assert_eq!((by_nvme.light_throttles, by_nvme.heavy_throttles), (Some(3.0), Some(1.0)));
        assert_eq!((by_nvme.throttle_time(), by_nvme.warning_time), (Some(75.0), Some(120.0)));
        assert_eq!(by_nvme.sensors[..3], [Some(38.0), Some(51.0), None]);
        let all: Value = serde_json::from_str(include_str!("samples/smartctl_nvme.json")).unwrap();
        let by_smartctl = Thermal::of_nvme(&all["nvme_smart_health_information_log"]);
        assert_eq!((by_smartctl.critical_time, by_smartctl.throttle_time()), (Some(60.0), None));
        assert_eq!(by_smartctl.sensors[..3], [Some(32.0), Some(36.0), None]);
    }

    #[test]
    fn the_counters_of_one_of_two_disks_show_in_both_merged() {
        let cool = Thermal { heavy_throttles: Some(900.0), warning_time: None, ..Thermal::default() };
        let warm = |times| Thermal { heavy_throttles: Some(times), warning_time: Some(60.0), ..Thermal::default() };
        assert_eq!(cool.merge(&warm(1.0)).heavy_throttles, Some(901.0));
        assert_eq!(cool.merge(&warm(3.0)).heavy_throttles, Some(903.0));
        assert_eq!(cool.merge(&warm(1.0)).warning_time, None, "one of them does not report it");
    }

    #[test]
    fn a_reading_has_a_value_for_each_column() {
        assert_eq!(Thermal::default().values().len(), columns().len());
    }
}
