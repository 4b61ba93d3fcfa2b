//! Admits by size: objects up to a limit. Without sizes it admits everything.

use super::{AdmissionFilter, AdmissionKind};
use crate::policy::PolicyParameter;
use crate::request::CacheRequest;

pub(super) const ADMISSION: AdmissionKind = AdmissionKind {
    name: "size",
    about: "admits objects up to a size",
    source: "common practice",
    parameters: &[PolicyParameter {
        name: "max",
        meaning: "largest size of an object, in bytes",
        default: (1_u32 << 20) as f64,
        min: 1.0,
        max: 1e15,
        is_whole: true,
    }],
    create: |setting| Box::new(Size { size_max: setting.parameters[0] as u64 }),
};

struct Size {
    size_max: u64,
}

impl AdmissionFilter for Size {
    fn admits(&mut self, request: &CacheRequest) -> bool {
        request.size <= self.size_max
    }
}
