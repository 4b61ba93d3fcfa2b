//! A model behind a gate.

use manometer_cache::CacheRequest;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::sketch::Sketch;
use super::traces::Object;
use super::{Model, SEED};

/// Sees every request, and says whether its object may come in.
type Filter = Box<dyn FnMut(&CacheRequest, bool) -> bool>;

pub struct Admitted<'a> {
    model: Box<dyn Model + 'a>,
    gate: Filter,
}

impl<'a> Admitted<'a> {
    pub fn new(model: Box<dyn Model + 'a>, name: &str, parameter: f64, fitting: u64) -> Self {
        let gate: Filter = match name {
            "size" => Box::new(move |request, _| request.size as f64 <= parameter),
            "probability" => {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED ^ u64::from_be_bytes(*b"\0\0\0\0gate"));
                Box::new(move |_, is_held| !is_held && random.random::<f64>() < parameter)
            }
            "tinylfu" => {
                let mut sketch = Sketch::new(fitting);
                Box::new(move |request, _| {
                    sketch.add(request.id);
                    f64::from(sketch.count(request.id)) >= parameter
                })
            }
            _ => panic!("{name} has no model: write one"),
        };
        Self { model, gate }
    }
}

impl Model for Admitted<'_> {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let is_held = self.model.held().iter().any(|object| object.0 == u64::from(request.id));
        let is_admitted = (self.gate)(request, is_held);
        if is_held || is_admitted { self.model.request(request) } else { false }
    }

    fn held(&self) -> Vec<Object> {
        self.model.held()
    }
}
