//! Whether the measured device is a virtual disk.

use manometer_measure::event::{Finding, Severity, ThreatTarget};
use serde_json::Value;

use super::evidence::Evidence;
use super::rule::{Family, Rule, minor};

const VIRTUAL_DISK: Rule = Rule {
    id: "virtual-disk",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Storage, "the device is a virtual disk"),
    source: "Didona et al., pitfalls 2, 3, 6; Storiks 3.4.1 (WR2)",
    meaning: "the measured device is a virtual disk: effects of its flash cannot be separated from those of the hypervisor",
    remedy: "Measure on bare metal to draw conclusions about flash.",
};

pub(super) const FAMILY: Family = Family { rules: &[VIRTUAL_DISK], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    virtual_disk(&evidence.recording.environment).into_iter().collect()
}

fn virtual_disk(environment: &Value) -> Option<Finding> {
    let device = environment.get("device")?;
    if device.get("virtual")? != true {
        return None;
    }
    let text = |key: &str| device.get(key).and_then(Value::as_str);
    let name = text("name").unwrap_or("The device");
    let hypervisor = text("virtual_by").map_or_else(String::new, |hypervisor| format!(" ({hypervisor})"));
    let sentence = format!(
        "{name} is a virtual disk{hypervisor}: flash effects (garbage collection, write amplification, wear) cannot be \
         separated from the hypervisor's caches, limits and other guests."
    );
    Some(VIRTUAL_DISK.finding(None, &sentence))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_virtual_disk_is_reported() {
        let environment = json!({"device": {"name": "vda", "virtual": true, "virtual_by": "virtio"}});
        let finding = virtual_disk(&environment).unwrap();
        assert_eq!((finding.id.as_str(), finding.severity), ("virtual-disk", Severity::Warning));
        assert!(finding.text.starts_with("vda is a virtual disk (virtio): flash effects"), "{}", finding.text);
        for other in [json!({"device": {"name": "sda", "virtual": false}}), json!({"device": null}), json!({})] {
            assert_eq!(virtual_disk(&other), None, "{other}");
        }
    }
}
