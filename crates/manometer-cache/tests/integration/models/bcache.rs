//! bcache as a row of buckets, each with its priority, which is counted down one by one.

use manometer_cache::CacheRequest;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig, SEED};

#[derive(Clone)]
struct Bucket {
    objects: ObjectList,
    filled: u64,
    priority: u64,
}

pub struct Bcache {
    replacement: &'static str,
    sizes: Vec<u64>,
    buckets: Vec<Bucket>,
    open: usize,
    to_rescale: i64,
    random: Xoshiro256PlusPlus,
}

impl Bcache {
    pub fn new(setting: ModelConfig<'_>, replacement: &'static str) -> Self {
        let count = (setting.parameters[0] as u64).min(setting.capacity) as usize;
        let mut sizes = vec![0; count];
        (0..setting.capacity as usize).for_each(|unit| sizes[unit % count] += 1);
        Self {
            replacement,
            sizes,
            buckets: vec![Bucket { objects: ObjectList::default(), filled: 0, priority: 32_768 }; count],
            open: 0,
            to_rescale: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(SEED),
        }
    }

    fn choose(&mut self) -> usize {
        match self.replacement {
            "fifo" => (self.open + 1) % self.buckets.len(),
            "random" => self.random.random_range(0..self.buckets.len()),
            _ => {
                let least = self.buckets.iter().map(|bucket| bucket.priority).min().unwrap();
                let cost = |bucket: &Bucket| (bucket.priority - least + (32_768 - least) / 8) * bucket.objects.weight();
                (0..self.buckets.len()).min_by_key(|at| cost(&self.buckets[*at])).unwrap()
            }
        }
    }

    fn write(&mut self, id: u32, size: u64) {
        if size > *self.sizes.iter().min().unwrap() {
            return;
        }
        if self.buckets[self.open].filled + size > self.sizes[self.open] {
            self.open = self.choose();
            self.buckets[self.open] = Bucket { objects: ObjectList::default(), filled: 0, priority: 32_768 };
        }
        let bucket = &mut self.buckets[self.open];
        bucket.objects.add(id, size);
        bucket.filled += size;
    }
}

impl Model for Bcache {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        self.to_rescale -= size as i64;
        if self.to_rescale < 0 {
            self.to_rescale += self.sizes.iter().sum::<u64>().div_ceil(1024) as i64;
            self.buckets.iter_mut().for_each(|bucket| bucket.priority = bucket.priority.saturating_sub(1));
        }
        let Some(bucket) = self.buckets.iter_mut().find(|bucket| bucket.objects.has(id)) else {
            self.write(id, size);
            return false;
        };
        if request.is_write || !bucket.objects.0.contains(&(u64::from(id), size)) {
            bucket.objects.take(id);
            self.write(id, size);
        } else {
            bucket.priority = 32_768;
        }
        true
    }

    fn held(&self) -> Vec<Object> {
        self.buckets.iter().flat_map(|bucket| bucket.objects.0.clone()).collect()
    }
}
