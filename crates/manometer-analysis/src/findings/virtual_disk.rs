//! The measured disk is a hypervisor's.

use manometer_measure::event::{Finding, Severity};
use serde_json::Value;

use super::Rule;
use super::evidence::Evidence;

const VIRTUAL_DISK: Rule = Rule {
    id: "virtual-disk",
    severity: Severity::Warning,
    source: "Didona et al., pitfalls 2, 3, 6; Storiks 3.4.1 (WR2)",
    meaning: "the measured device is a hypervisor's: what its flash does cannot be told from its host",
    remedy: "Measure on a host of its own to speak of flash.",
};

pub(super) const RULES: &[Rule] = &[VIRTUAL_DISK];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    of_environment(&evidence.recording.environment).into_iter().collect()
}

fn of_environment(environment: &Value) -> Option<Finding> {
    let device = environment.get("device")?;
    if device.get("virtual")? != true {
        return None;
    }
    let name = device.get("name").and_then(Value::as_str).unwrap_or("the device");
    let maker =
        device.get("virtual_by").and_then(Value::as_str).map_or_else(String::new, |maker| format!(" ({maker})"));
    let sentence = format!(
        "{name} is a virtual disk{maker}: flash effects (garbage collection, write amplification, wear) cannot be told \
         from those of its host: its caches, its limits, its other guests."
    );
    Some(VIRTUAL_DISK.tell(None, &sentence))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_virtual_disk_is_named_and_any_other_is_not() {
        let found = of_environment(&json!({"device": {"name": "vda", "virtual": true, "virtual_by": "virtio"}}));
        let found = found.unwrap();
        assert_eq!((found.id.as_str(), found.severity), ("virtual-disk", Severity::Warning));
        assert!(found.text.starts_with("vda is a virtual disk (virtio): flash effects"), "{}", found.text);
        for other in [json!({"device": {"name": "sda", "virtual": false}}), json!({"device": null}), json!({})] {
            assert_eq!(of_environment(&other), None, "{other}");
        }
    }
}
