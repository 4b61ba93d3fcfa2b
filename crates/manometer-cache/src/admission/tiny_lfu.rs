//! By frequency as TinyLFU counts it, against a threshold: a policy need not know beforehand what it would evict.
//! Against the victim itself `w-tinylfu` compares.

use super::{AdmissionFilter, AdmissionKind};
use crate::count_min_sketch::CountMinSketch;
use crate::policy::PolicyParameter;
use crate::request::Request;

pub(super) const ADMISSION: AdmissionKind = AdmissionKind {
    name: "tinylfu",
    about: "lets in what was requested often enough of late, as a sketch counts it",
    source: "Einziger, Friedman and Manes, ACM Transactions on Storage 2017",
    parameters: &[PolicyParameter {
        name: "requests",
        meaning: "how many requests of late, this one among them, let an object in",
        default: 2.0,
        min: 1.0,
        max: 15.0,
        is_whole: true,
    }],
    create: |setting| {
        let sketch = CountMinSketch::new(setting.objects());
        Box::new(TinyLfu { requests_min: setting.parameters[0] as u8, sketch })
    },
};

struct TinyLfu {
    requests_min: u8,
    sketch: CountMinSketch,
}

impl AdmissionFilter for TinyLfu {
    fn observe(&mut self, request: &Request) {
        self.sketch.add(request.id);
    }

    fn admits(&mut self, request: &Request) -> bool {
        self.sketch.count(request.id) >= self.requests_min
    }
}
