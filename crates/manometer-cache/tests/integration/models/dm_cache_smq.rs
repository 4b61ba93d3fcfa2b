//! dm-cache's `smq` with its levels as rows in which marks stand between objects.

use manometer_cache::CacheRequest;

use super::traces::Object;
use super::{Model, ModelConfig};

#[derive(Clone, Copy, PartialEq)]
enum Entry {
    Sentinel(u32),
    Block { id: u32, size: u64, is_hit: bool },
}

impl Entry {
    fn is(&self, other: u32) -> bool {
        matches!(self, Entry::Block { id, .. } if *id == other)
    }

    fn size(&self) -> u64 {
        if let Entry::Block { size, .. } = self { *size } else { 0 }
    }
}

/// Levels of entries, the oldest first.
struct Queue {
    levels: Vec<Vec<Entry>>,
    top_levels: usize,
    in_top: usize,
}

impl Queue {
    fn new(sentinels: &[u32], top_levels: usize, in_top: usize) -> Self {
        let level: Vec<Entry> = sentinels.iter().map(|sentinel| Entry::Sentinel(*sentinel)).collect();
        Self { levels: vec![level; 64], top_levels, in_top }
    }

    fn weight(&self) -> u64 {
        self.levels.iter().flatten().map(Entry::size).sum()
    }

    fn find(&self, id: u32) -> Option<(usize, usize)> {
        let at = |level: &Vec<Entry>| level.iter().position(|entry| entry.is(id));
        self.levels.iter().enumerate().find_map(|(level, entries)| at(entries).map(|at| (level, at)))
    }

    fn blocks(&self, level: usize) -> usize {
        self.levels[level].iter().filter(|entry| entry.size() > 0).count()
    }

    fn take_first(&mut self, level: usize, other_than: Option<u32>) -> Option<Entry> {
        let fits = |entry: &Entry| entry.size() > 0 && !other_than.is_some_and(|id| entry.is(id));
        let at = self.levels[level].iter().position(fits)?;
        Some(self.levels[level].remove(at))
    }

    fn requeue(&mut self, id: u32, size: u64, extra: usize) {
        let (level, at) = self.find(id).unwrap();
        self.levels[level].remove(at);
        let to = (level + extra).min(63);
        if to > level
            && let Some(demoted) = self.take_first(to, None)
        {
            self.levels[level].push(demoted);
        }
        self.levels[to].push(Entry::Block { id, size, is_hit: true });
    }

    fn evict_above(&mut self, limit: u64, other_than: u32) {
        while self.weight() > limit {
            let evicted = (0..64).find_map(|level| self.take_first(level, Some(other_than)));
            assert!(evicted.is_some());
        }
    }

    fn targets(&self) -> Vec<usize> {
        let spread = |objects: usize, levels: usize| {
            (0..levels).map(move |level| objects / levels + usize::from(level < objects % levels))
        };
        let objects: usize = (0..64).map(|level| self.blocks(level)).sum();
        let below = spread(objects.saturating_sub(self.in_top), 64 - self.top_levels);
        below.chain(spread(self.in_top, self.top_levels)).collect()
    }

    fn redistribute(&mut self) {
        for (level, target) in self.targets().into_iter().enumerate().take(63) {
            while self.blocks(level) < target {
                let Some(entry) = (level + 1..64).find_map(|above| self.take_first(above, None)) else { break };
                self.levels[level].push(entry);
            }
            while self.blocks(level) > target {
                let youngest = self.levels[level].iter().rposition(|entry| entry.size() > 0).unwrap();
                let entry = self.levels[level].remove(youngest);
                self.levels[level + 1].push(entry);
            }
        }
    }

    fn clear_hits(&mut self) {
        for entry in self.levels.iter_mut().flatten() {
            if let Entry::Block { is_hit, .. } = entry {
                *is_hit = false;
            }
        }
    }
}

#[derive(Default)]
struct Stats {
    hits: u64,
    misses: u64,
}

impl Stats {
    fn note(&mut self, level: Option<usize>) {
        if level.is_some_and(|level| level >= 48) { self.hits += 1 } else { self.misses += 1 }
    }

    fn share(&self) -> f64 {
        if self.hits == 0 { 0.0 } else { self.hits as f64 / (self.hits + self.misses) as f64 }
    }
}

pub struct DmCacheSmq {
    capacity: u64,
    write_extra: usize,
    requests_per_second: u32,
    second: u32,
    hotspot: Queue,
    hotspot_max: u64,
    clean: Queue,
    hotspot_stats: Stats,
    cache_stats: Stats,
    read_promote_level: usize,
    level_jump: usize,
}

impl DmCacheSmq {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let mean = setting.mean();
        let hotspot_max = (1024 * mean).max(setting.capacity / 4);
        Self {
            capacity: setting.capacity,
            write_extra: setting.parameters[0] as usize,
            requests_per_second: setting.parameters[1] as u32,
            second: 0,
            hotspot: Queue::new(&[], 8, (setting.capacity / mean).min(hotspot_max / mean / 64) as usize),
            hotspot_max,
            clean: Queue::new(&[0, 1], 0, 0),
            hotspot_stats: Stats::default(),
            cache_stats: Stats::default(),
            read_promote_level: 64,
            level_jump: 1,
        }
    }

    fn tick(&mut self) {
        if self.second.is_multiple_of(60) {
            let sentinel = Entry::Sentinel(self.second / 60 % 2);
            for level in &mut self.clean.levels {
                level.retain(|entry| *entry != sentinel);
                level.push(sentinel);
            }
        }
        const TABLE: [usize; 17] = [1, 1, 1, 2, 4, 6, 7, 8, 7, 6, 4, 4, 3, 3, 2, 2, 1];
        let objects = self.held().len() as f64;
        let is_full = objects > 0.0
            && self.capacity as f64 - self.clean.weight() as f64 + 1e-9 < self.clean.weight() as f64 / objects;
        let threshold = if is_full { TABLE[(self.cache_stats.share() * 16.0) as usize] } else { 32 };
        let share = self.hotspot_stats.share();
        self.level_jump = if share < 1.0 / 16.0 {
            4
        } else if share < 1.0 / 8.0 {
            2
        } else {
            1
        };
        self.read_promote_level = 64 - threshold / self.level_jump;
        self.hotspot.clear_hits();
        self.hotspot.redistribute();
        self.hotspot_stats = Stats::default();
        if self.second.is_multiple_of(10) {
            self.clean.clear_hits();
            self.clean.redistribute();
            self.cache_stats = Stats::default();
        }
    }

    fn heat(&mut self, id: u32, size: u64) -> usize {
        let found = self.hotspot.find(id);
        self.hotspot_stats.note(found.map(|(level, _)| level));
        match found {
            Some((level, at)) => {
                let was_hit = matches!(self.hotspot.levels[level][at], Entry::Block { is_hit: true, .. });
                self.hotspot.requeue(id, size, if was_hit { 0 } else { self.level_jump });
            }
            None => self.hotspot.levels[0].push(Entry::Block { id, size, is_hit: false }),
        }
        self.hotspot.evict_above(self.hotspot_max, id);
        self.hotspot.find(id).unwrap().0
    }

    fn demote_above(&mut self, limit: u64) -> bool {
        while self.clean.weight() > limit {
            let oldest = self.clean.levels.iter_mut().find(|level| level.first().is_some_and(|entry| entry.size() > 0));
            let Some(level) = oldest else { return false };
            level.remove(0);
        }
        true
    }
}

impl Model for DmCacheSmq {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        while self.second < request.position / self.requests_per_second {
            self.second += 1;
            self.tick();
        }
        let level = self.heat(id, size);
        let found = self.clean.find(id);
        self.cache_stats.note(found.map(|(level, _)| level));
        if let Some((level, at)) = found {
            if let Entry::Block { size: old, is_hit: false, .. } = &mut self.clean.levels[level][at] {
                *old = size;
                self.clean.requeue(id, size, 1);
            } else {
                self.clean.levels[level][at] = Entry::Block { id, size, is_hit: true };
            }
            self.clean.evict_above(self.capacity, id);
            return true;
        }
        let needed = self.read_promote_level + if request.is_write { self.write_extra } else { 0 };
        if level >= needed && self.demote_above(self.capacity - size) {
            self.clean.levels[0].push(Entry::Block { id, size, is_hit: false });
        }
        false
    }

    fn held(&self) -> Vec<Object> {
        let blocks = self.clean.levels.iter().flatten();
        blocks
            .filter_map(
                |entry| if let Entry::Block { id, size, .. } = entry { Some((u64::from(*id), *size)) } else { None },
            )
            .collect()
    }
}
