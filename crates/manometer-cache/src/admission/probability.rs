//! By chance: what is requested often comes in soon, what is requested once seldom does.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::{AdmissionFilter, AdmissionKind};
use crate::policy::PolicyParameter;
use crate::request::Request;

pub(super) const ADMISSION: AdmissionKind = AdmissionKind {
    name: "probability",
    about: "lets objects in by chance",
    source: "common practice",
    parameters: &[PolicyParameter {
        name: "p",
        meaning: "how probable it is that an object is let in",
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

/// Parts this chance from the policy's.
const STREAM: u64 = 0x6761_7465;

struct Probability {
    probability: f64,
    random: Xoshiro256PlusPlus,
}

impl AdmissionFilter for Probability {
    fn admits(&mut self, _: &Request) -> bool {
        self.random.random::<f64>() < self.probability
    }
}
