//! Admits with a probability: frequently requested objects soon enter, one-hit wonders rarely.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::{AdmissionFilter, AdmissionKind};
use crate::policy::PolicyParameter;
use crate::request::CacheRequest;

pub(super) const ADMISSION: AdmissionKind = AdmissionKind {
    name: "probability",
    about: "admits objects with a probability",
    source: "common practice",
    parameters: &[PolicyParameter {
        name: "p",
        meaning: "probability of admission",
        default: 0.5,
        min: 0.0,
        max: 1.0,
        is_whole: false,
    }],
    create: |setting| {
        let random = Xoshiro256PlusPlus::seed_from_u64(setting.seed ^ STREAM);
        Box::new(Probability { probability: setting.parameters[0], random })
    },
};

/// Separates the filter's random stream from the policy's.
const STREAM: u64 = 0x6761_7465;

struct Probability {
    probability: f64,
    random: Xoshiro256PlusPlus,
}

impl AdmissionFilter for Probability {
    fn admits(&mut self, _: &CacheRequest) -> bool {
        self.random.random::<f64>() < self.probability
    }
}
