//! By size: what is small enough. Where sizes do not count it lets everything in.

use super::{Admission, Gate};
use crate::policy::{Parameter, Request};

pub(super) const ADMISSION: Admission = Admission {
    name: "size",
    about: "lets in objects up to a size",
    source: "common practice",
    parameters: &[Parameter {
        name: "max",
        meaning: "the most bytes of an object",
        default: (1_u32 << 20) as f64,
        min: 1.0,
        max: 1e15,
        is_whole: true,
    }],
    make: |setting| Box::new(Size { size_max: setting.parameters[0] as u64 }),
};

struct Size {
    size_max: u64,
}

impl Gate for Size {
    fn admits(&mut self, request: &Request) -> bool {
        request.size <= self.size_max
    }
}
