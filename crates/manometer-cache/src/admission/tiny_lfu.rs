//! Admits by frequency, counted as in TinyLFU, against a threshold, so that a policy need not know in advance what it
//! would evict. `w-tinylfu` compares with the victim itself.

use super::{AdmissionFilter, AdmissionKind};
use crate::count_min_sketch::CountMinSketch;
use crate::policy::PolicyParameter;
use crate::request::CacheRequest;

pub(super) const ADMISSION: AdmissionKind = AdmissionKind {
    name: "tinylfu",
    about: "admits objects requested often enough recently, as a count-min sketch counts them",
    source: "Einziger, Friedman and Manes, ACM Transactions on Storage 2017",
    parameters: &[PolicyParameter {
        name: "requests",
        meaning: "recent requests, including the current one, that admit an object",
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
    fn observe(&mut self, request: &CacheRequest) {
        self.sketch.add(request.id);
    }

    fn admits(&mut self, request: &CacheRequest) -> bool {
        self.sketch.count(request.id) >= self.requests_min
    }
}
