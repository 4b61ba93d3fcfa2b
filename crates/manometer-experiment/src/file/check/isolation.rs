//! How a workload is parted from the others, and what it may use.

use serde_json::Value;

use super::Checker;
use crate::file::experiment::Workload;
use crate::file::tree::Node;
use crate::isolate::Limits;

impl Checker<'_> {
    /// `workload` with the isolation and the limits that its table `node` says.
    pub(super) fn isolated(&mut self, node: &Node, mut workload: Workload, block_size: u64) -> Option<Workload> {
        if let Some(isolation) = node.get("isolation") {
            workload.isolation = self.value(isolation, "isolation")?;
        }
        if let Some(limits) = node.get("limits") {
            workload.limits = self.limits(limits)?;
        }
        if let Err((setting, text)) = workload.validate(block_size) {
            let origin = node.get(&setting).map_or(&node.key_origin, |node| &node.key_origin).clone();
            self.report(text, Some(&origin), None);
            return None;
        }
        Some(workload)
    }

    fn limits(&mut self, node: &Node) -> Option<Limits> {
        let found_before = self.complaints.len();
        if !node.is_table() {
            let help = "write `limits = { \"io.max\" = \"rbps=100MiB\" }`";
            self.report("`limits` is a table", Some(&node.origin), Some(help));
            return None;
        }
        for (key, inner) in node.entries().iter().filter(|(_, inner)| inner.is_table()) {
            let full = inner.entries().first().map_or_else(|| key.clone(), |(rest, _)| format!("{key}.{rest}"));
            let help = format!("a limit's name holds a dot: write it in quotes, `\"{full}\"`");
            self.report(format!("`{key}` is no limit"), Some(&inner.key_origin), Some(&help));
        }
        if self.complaints.len() > found_before {
            return None;
        }
        self.known_keys(node, &Limits::NAMES.map(str::to_owned));
        let mut limits = Limits::default();
        for (key, value) in node.entries().iter().filter(|(key, _)| Limits::NAMES.contains(&key.as_str())) {
            match limits.with(key, &value.to_json()) {
                Ok(with) => limits = with,
                Err(reason) => self.report(format!("`{key}`: {reason}"), Some(&value.origin), None),
            }
        }
        (self.complaints.len() == found_before).then_some(limits)
    }

    /// The values of the device's scheduler in a sweep.
    pub(super) fn schedulers(&mut self, key: &str, node: &Node) -> Vec<Value> {
        let named = |value: &Value| value.as_str().is_some_and(|name| !name.is_empty());
        for wrong in node.elements().iter().filter(|element| !named(&element.to_json())) {
            let help = "write names of schedulers, such as `[\"none\", \"mq-deadline\", \"bfq\"]`";
            self.report(format!("`{key}`: {} is no scheduler", wrong.to_json()), Some(&wrong.origin), Some(help));
        }
        node.elements().iter().map(Node::to_json).collect()
    }
}
