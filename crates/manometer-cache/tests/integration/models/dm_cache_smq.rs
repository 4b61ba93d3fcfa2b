//! dm-cache's `smq` of Linux 6.1 with its levels as rows.

use manometer_cache::CacheRequest;

use super::traces::Object;
use super::{Model, ModelConfig};

#[derive(Clone, Copy)]
struct Block {
    id: u32,
    size: u64,
    is_hit: bool,
}

/// Levels of blocks, the oldest first.
struct Queue {
    levels: Vec<Vec<Block>>,
    top_levels: usize,
    in_top: usize,
}

impl Queue {
    fn new(top_levels: usize, in_top: usize) -> Self {
        Self { levels: vec![Vec::new(); 64], top_levels, in_top }
    }

    fn weight(&self) -> u64 {
        self.levels.iter().flatten().map(|block| block.size).sum()
    }

    fn find(&self, id: u32) -> Option<(usize, usize)> {
        let at = |level: &Vec<Block>| level.iter().position(|block| block.id == id);
        self.levels.iter().enumerate().find_map(|(level, blocks)| at(blocks).map(|at| (level, at)))
    }

    /// Takes the oldest block of the lowest of the first `levels`, and says where it was.
    fn pop(&mut self, levels: usize, other_than: Option<u32>) -> Option<(usize, Block)> {
        for (level, blocks) in self.levels.iter_mut().enumerate().take(levels) {
            if let Some(at) = blocks.iter().position(|block| Some(block.id) != other_than) {
                return Some((level, blocks.remove(at)));
            }
        }
        None
    }

    fn requeue(&mut self, id: u32, size: u64, extra: usize) {
        let (level, at) = self.find(id).unwrap();
        self.levels[level].remove(at);
        let to = (level + extra).min(63);
        if to > level && !self.levels[to].is_empty() {
            let demoted = self.levels[to].remove(0);
            self.levels[level].push(demoted);
        }
        self.levels[to].push(Block { id, size, is_hit: true });
    }

    fn targets(&self) -> Vec<usize> {
        let spread = |objects: usize, levels: usize| {
            (0..levels).map(move |level| objects / levels + usize::from(level < objects % levels))
        };
        let objects = self.levels.iter().flatten().count();
        let below = spread(objects.saturating_sub(self.in_top), 64 - self.top_levels);
        below.chain(spread(self.in_top, self.top_levels)).collect()
    }

    fn redistribute(&mut self) {
        for (level, target) in self.targets().into_iter().enumerate().take(63) {
            while self.levels[level].len() < target {
                let Some(above) = (level + 1..64).find(|above| !self.levels[*above].is_empty()) else { break };
                let block = self.levels[above].remove(0);
                self.levels[level].push(block);
            }
            while self.levels[level].len() > target {
                let block = self.levels[level].pop().unwrap();
                self.levels[level + 1].push(block);
            }
        }
    }

    fn clear_hits(&mut self) {
        self.levels.iter_mut().flatten().for_each(|block| block.is_hit = false);
    }
}

pub struct DmCacheSmq {
    capacity: u64,
    requests_per_second: u32,
    blocks_per_spot: u32,
    second: u32,
    hotspot: Queue,
    hotspot_max: u64,
    clean: Queue,
    /// Hits and misses of hot spots in this second.
    stats: (u64, u64),
    level_jump: usize,
}

impl DmCacheSmq {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let mean = setting.mean();
        let hotspot_max = (1024 * mean).max(setting.capacity / 4);
        let blocks_per_spot = setting.parameters[1] as u32;
        let in_top = (setting.capacity / mean / u64::from(blocks_per_spot)).min(hotspot_max / mean / 64);
        Self {
            capacity: setting.capacity,
            requests_per_second: setting.parameters[0] as u32,
            blocks_per_spot,
            second: 0,
            hotspot: Queue::new(8, in_top as usize),
            hotspot_max,
            clean: Queue::new(0, 0),
            stats: (0, 0),
            level_jump: 4,
        }
    }

    /// The lowest level that is promoted, and how far hot spots jump.
    fn assess(&self) -> (usize, usize) {
        let (hits, misses) = self.stats;
        match if hits == 0 { 0.0 } else { hits as f64 / (hits + misses) as f64 } {
            poor if poor < 1.0 / 16.0 => (48, 4),
            fair if fair < 1.0 / 8.0 => (32, 2),
            _ => (0, 1),
        }
    }

    fn tick(&mut self) {
        self.level_jump = self.assess().1;
        self.stats = (0, 0);
        self.hotspot.redistribute();
        if self.second.is_multiple_of(60) {
            self.clean.clear_hits();
            self.clean.redistribute();
        }
    }

    fn heat(&mut self, id: u32, size: u64) -> usize {
        let Some((level, _)) = self.hotspot.find(id) else {
            self.stats.1 += 1;
            let mut level = 0;
            while self.hotspot.weight() + size > self.hotspot_max {
                match self.hotspot.pop(64, None) {
                    Some((popped, _)) => level = popped,
                    None => break,
                }
            }
            self.hotspot.levels[level].push(Block { id, size, is_hit: false });
            return level;
        };
        if level >= 48 {
            self.stats.0 += 1
        } else {
            self.stats.1 += 1
        }
        self.hotspot.requeue(id, size, self.level_jump);
        self.hotspot.find(id).unwrap().0
    }
}

impl Model for DmCacheSmq {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        while self.second < request.position / self.requests_per_second {
            self.second += 1;
            self.tick();
        }
        if let Some((level, at)) = self.clean.find(id) {
            if self.clean.levels[level][at].is_hit {
                self.clean.levels[level][at].size = size;
            } else {
                self.clean.requeue(id, size, 1);
            }
            while self.clean.weight() > self.capacity {
                self.clean.pop(64, Some(id)).unwrap();
            }
            return true;
        }
        let free = self.capacity - self.clean.weight();
        let (promote_level, _) = self.assess();
        let is_hot = self.heat(id / self.blocks_per_spot, size) >= promote_level;
        if is_hot || request.is_write && size <= free {
            if size <= free {
                self.clean.levels[63].push(Block { id, size, is_hit: false });
            } else if free < self.capacity / 4 {
                self.clean.pop(32, None);
            }
        }
        false
    }

    fn held(&self) -> Vec<Object> {
        self.clean.levels.iter().flatten().map(|block| (u64::from(block.id), block.size)).collect()
    }
}
