//! Whether the host is a virtual machine or a container.

use std::fs;
use std::path::Path;

use procfs::{CpuInfo, Current as _};

use super::{Check, CheckStatus};

const WHY: &str = "other guests take processor time and I/O, invisibly";

/// The kind of the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// Whether the processor reports a hypervisor.
    pub hypervisor: bool,
    /// The vendor and product of the machine, from its firmware.
    pub product: Option<String>,
    /// Whether this process runs in a container.
    pub container: bool,
}

impl Machine {
    pub(super) fn read() -> Self {
        let flags = CpuInfo::current().ok().and_then(|cpu| cpu.flags(0).map(|flags| flags.join(" ")));
        let hypervisor = flags.is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
        let dmi =
            |file: &str| Some(fs::read_to_string(Path::new("/sys/class/dmi/id").join(file)).ok()?.trim().to_owned());
        let product = match (dmi("sys_vendor"), dmi("product_name")) {
            (None, None) => None,
            (vendor, product) => Some([vendor, product].into_iter().flatten().collect::<Vec<_>>().join(" ")),
        };
        let container = ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists());
        let hypervisor = hypervisor || Path::new("/sys/hypervisor/type").exists();
        Self { hypervisor, product, container }
    }

    pub(super) fn check(&self) -> Check {
        let product = self.product.as_ref().map_or_else(String::new, |product| format!(" ({product})"));
        let container = if self.container { ", in a container" } else { "" };
        if self.hypervisor {
            let text = format!("a virtual machine{product}{container}");
            return Check::new("virtual-machine", CheckStatus::Limited, text, WHY)
                .remedy("use bare metal; here, check `steal` in the series `cpu`");
        }
        let status = if self.container { CheckStatus::Limited } else { CheckStatus::Ok };
        Check::new("virtual-machine", status, format!("bare metal{product}{container}"), WHY)
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded;
    use super::*;

    #[test]
    fn a_virtual_machine_is_distinguished_from_bare_metal() {
        assert_eq!(recorded::nvme().machine.check().text, "bare metal (Dell Inc. PowerEdge R650)");
        let check = recorded::virtual_machine().machine.check();
        assert_eq!((check.status, check.text.as_str()), (CheckStatus::Limited, "a virtual machine"));
    }
}
