//! W-TinyLFU: a window, and a main cache of two segments whose admission a sketch decides.

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::sketch::Sketch;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct WTinyLfu {
    window_max: u64,
    main_max: u64,
    protected_max: u64,
    window: ObjectList,
    probation: ObjectList,
    protected: ObjectList,
    sketch: Sketch,
}

impl WTinyLfu {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let window_max = setting.share(0).max(1);
        let main_max = setting.capacity - window_max;
        let [window, probation, protected] = Default::default();
        Self {
            window_max,
            main_max,
            protected_max: (main_max as f64 * setting.parameters[1]) as u64,
            window,
            probation,
            protected,
            sketch: Sketch::new(setting.fitting()),
        }
    }

    fn main(&self) -> u64 {
        self.probation.weight() + self.protected.weight()
    }

    fn victims(&mut self) -> &mut ObjectList {
        if self.probation.is_empty() { &mut self.protected } else { &mut self.probation }
    }

    fn leave_window(&mut self) {
        let (id, size) = self.window.take_oldest();
        while size <= self.main_max {
            if self.main() + size <= self.main_max {
                return self.probation.add(id, size);
            }
            let victim = self.victims().0[0].0 as u32;
            if self.sketch.count(id) <= self.sketch.count(victim) {
                return;
            }
            self.victims().take_oldest();
        }
    }
}

impl Model for WTinyLfu {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        self.sketch.add(id);
        let is_in_main = self.probation.take(id) || self.protected.take(id);
        let is_hit = is_in_main || self.window.take(id);
        if is_in_main {
            self.protected.add(id, size)
        } else {
            self.window.add(id, size)
        }
        while self.protected.weight() > self.protected_max {
            let (id, size) = self.protected.take_oldest();
            self.probation.add(id, size);
        }
        while self.main() > self.main_max {
            self.victims().take_oldest();
        }
        while self.window.weight() > self.window_max {
            self.leave_window();
        }
        is_hit
    }

    fn held(&self) -> Vec<Object> {
        [&self.window.0[..], &self.probation.0, &self.protected.0].concat()
    }
}
