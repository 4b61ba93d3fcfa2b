//! The isolation, the resource limits and the clients of a workload.

use manometer_session::group::OnLost;
use manometer_session::protocol::ClientGroup;
use serde_json::Value;

use super::Checker;
use crate::definition::{ARRANGEMENT_KEY, ExperimentWorkload};
use crate::file::tree::Node;
use crate::limits::Limits;

impl Checker<'_> {
    /// `workload`, unless its settings are invalid, with the isolation, the limits and the clients of its table `node`.
    pub(super) fn with_isolation(
        &mut self,
        node: &Node,
        workload: Option<ExperimentWorkload>,
        block_size: u64,
    ) -> Option<ExperimentWorkload> {
        let isolation = node.get("isolation").map(|isolation| self.read(isolation, "isolation"));
        let limits = node.get("limits").map(|limits| self.read_limits(limits));
        let clients = self.read_clients(node);
        let default = workload?;
        let workload = ExperimentWorkload {
            isolation: isolation.unwrap_or(Some(default.isolation))?,
            limits: limits.unwrap_or_else(|| Some(default.limits.clone()))?,
            clients: clients?,
            ..default
        };
        if let Err((setting, text)) = workload.validate(block_size) {
            let origin = node.get(&setting).map_or(&node.key_origin, |node| &node.key_origin).clone();
            self.report(text, Some(&origin), None);
            return None;
        }
        Some(workload)
    }

    fn read_clients(&mut self, node: &Node) -> Option<Option<ClientGroup>> {
        let Some(count) = node.get("clients") else {
            let Some(key) = ["hosts", "on_lost"].iter().find_map(|key| node.get(key)) else { return Some(None) };
            let text = "`hosts` and `on_lost` are for several clients";
            self.report(text, Some(&key.key_origin), Some("write their number as `clients`"));
            return None;
        };
        let count = self.read(count, "clients")?;
        let hosts = node.get("hosts").map_or(Some(Vec::new()), |hosts| self.read(hosts, "hosts"))?;
        let on_lost = node.get("on_lost").map_or(Some(OnLost::Stop), |on_lost| self.read(on_lost, "on_lost"))?;
        Some(Some(ClientGroup { count, hosts, on_lost }))
    }

    fn read_limits(&mut self, node: &Node) -> Option<Limits> {
        let errors_before = self.errors.len();
        if !node.is_table() {
            let help = "write `limits = { \"io.max\" = \"rbps=100MiB\" }`";
            self.report("`limits` must be a table", Some(&node.origin), Some(help));
            return None;
        }
        for (key, inner) in node.entries().iter().filter(|(_, inner)| inner.is_table()) {
            let full = inner.entries().first().map_or_else(|| key.clone(), |(rest, _)| format!("{key}.{rest}"));
            let help = format!("the name of a limit contains a dot: write it in quotes, `\"{full}\"`");
            self.report(format!("`{key}` is not a limit"), Some(&inner.key_origin), Some(&help));
        }
        if self.errors.len() > errors_before {
            return None;
        }
        self.check_keys(node, &Limits::NAMES.map(str::to_owned));
        let mut limits = Limits::default();
        for (key, value) in node.entries().iter().filter(|(key, _)| Limits::NAMES.contains(&key.as_str())) {
            match limits.with(key, &value.to_json()) {
                Ok(with) => limits = with,
                Err(reason) => self.report(format!("`{key}`: {reason}"), Some(&value.origin), None),
            }
        }
        (self.errors.len() == errors_before).then_some(limits)
    }

    /// Reads the values of a key of the device in a sweep: names of schedulers, of devices, of kernels.
    pub(super) fn read_names(&mut self, key: &str, node: &Node) -> Vec<Value> {
        let is_name = |value: &Value| value.as_str().is_some_and(|name| !name.is_empty());
        for invalid in node.elements().iter().filter(|element| !is_name(&element.to_json())) {
            let (what, help) = match key {
                "device.name" => ("name of a device", "write names of devices, such as `[\"970evp250\", \"p4800x\"]`"),
                "device.kernel" => {
                    ("kernel release", "write releases or their beginnings, such as `[\"5.4\", \"6.8\"]`")
                }
                ARRANGEMENT_KEY => ("file of an arrangement", "write paths relative to this file"),
                _ => ("scheduler", "write the names of schedulers, such as `[\"none\", \"mq-deadline\", \"bfq\"]`"),
            };
            self.report(format!("`{key}`: {} is not a {what}", invalid.to_json()), Some(&invalid.origin), Some(help));
        }
        node.elements().iter().map(Node::to_json).collect()
    }
}
