//! A trace of accesses to the files of a tree.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::{FileSizes, PathAccesses, PathModel, PathTree};
use crate::error::TraceError;
use crate::key::{KeyTable, key_id};
use crate::reader::{BATCH_RECORDS, TraceReader};
use crate::record::{Record, TraceOperation};

/// A trace of reads of whole files: the key is the path, from `/` on, the value the file. It has no times.
#[derive(Debug)]
pub struct PathGenerator {
    tree: PathTree,
    sizes: FileSizes,
    accesses: PathAccesses,
    random: Xoshiro256PlusPlus,
    keys: KeyTable,
    shows_keys: bool,
    path: Vec<u8>,
    left: u64,
}

impl PathGenerator {
    /// `requests` accesses of `model`; the same `seed` generates the same trace. Without `key_texts` it has the ids of the
    /// paths only.
    ///
    /// # Errors
    /// The model is invalid.
    pub fn new(model: &PathModel, requests: u64, seed: u64, key_texts: bool) -> Result<Self, TraceError> {
        model.check().map_err(|error| TraceError::Wrong(error.to_string()))?;
        Ok(Self {
            tree: PathTree::new(model),
            sizes: FileSizes::new(model.mean_file_bytes, seed),
            accesses: PathAccesses::new(model, seed),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            keys: KeyTable::default(),
            shows_keys: key_texts,
            path: Vec::new(),
            left: requests,
        })
    }

    /// How many different files the requests so far read.
    pub fn files_accessed(&self) -> usize {
        self.keys.len()
    }

    fn request(&mut self) -> Result<Record, TraceError> {
        let file = self.accesses.next(&mut self.random);
        self.path.clear();
        self.path.push(b'/');
        self.tree.push_path(file, &mut self.path);
        let key = key_id(&self.path);
        self.keys.keep(key, &self.path).map_err(|fault| TraceError::Wrong(fault.into_owned()))?;
        Ok(Record {
            key_size: u32::try_from(self.path.len()).ok(),
            value_size: Some(self.sizes.of(file)),
            ..Record::new(TraceOperation::Get, key)
        })
    }
}

impl TraceReader for PathGenerator {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        batch.clear();
        let count = self.left.min(BATCH_RECORDS as u64);
        for _ in 0..count {
            batch.push(self.request()?);
        }
        self.left -= count;
        Ok(batch.len())
    }

    fn keys(&self) -> Option<&KeyTable> {
        Some(&self.keys).filter(|_| self.shows_keys)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(seed: u64, requests: u64) -> Vec<(Record, String)> {
        let mut generator = PathGenerator::new(&PathModel::default(), requests, seed, true).unwrap();
        let (mut batch, mut all) = (Vec::new(), Vec::new());
        while generator.read(&mut batch).unwrap() > 0 {
            let text = |key| String::from_utf8(generator.keys().unwrap().text(key).unwrap().to_vec()).unwrap();
            all.extend(batch.iter().map(|record| (*record, text(record.key))));
        }
        all
    }

    /// Numbers of Song 2018, section 4.2.2, on a tenth of the accesses.
    #[test]
    fn the_default_is_the_archive_of_song() {
        let accesses = read(1, 300_000);
        assert_eq!(accesses.len(), 300_000);
        let depth = |path: &str| path.matches('/').count();
        assert!(accesses.iter().all(|(_, path)| (8..=10).contains(&depth(path))));
        let mean_depth = accesses.iter().map(|(_, path)| depth(path)).sum::<usize>() as f64 / 300_000.0;
        assert!((8.5..9.5).contains(&mean_depth), "{mean_depth}");
        let files: BTreeMap<&str, u64> =
            accesses.iter().map(|(record, path)| (path.as_str(), record.value_size.unwrap())).collect();
        let mean = files.values().sum::<u64>() as f64 / files.len() as f64;
        assert!((mean / 65_536.0 - 1.0).abs() < 0.02, "{mean}");
        let small = files.values().filter(|size| **size < 100 << 10).count() as f64 / files.len() as f64;
        assert!(small > 0.75, "mostly below 100 KB: {small}");
        let directory = |path: &str| path.rsplit_once('/').unwrap().0.to_owned();
        let stays = accesses.windows(2).filter(|pair| directory(&pair[0].1) == directory(&pair[1].1)).count();
        assert!(stays > 260_000, "files of one directory are accessed repeatedly: {stays}");
    }

    #[test]
    fn the_seed_decides_the_trace() {
        assert_eq!(read(1, 1_000), read(1, 1_000));
        assert_ne!(read(1, 1_000), read(2, 1_000));
        assert_eq!(read(1, 1_000), read(1, 2_000)[..1_000]);
    }

    #[test]
    fn paths_can_be_left_out() {
        let mut generator = PathGenerator::new(&PathModel::default(), 500, 1, false).unwrap();
        let mut batch = Vec::new();
        generator.read(&mut batch).unwrap();
        assert!(generator.keys().is_none() && generator.files_accessed() > 10);
        assert_eq!(batch[0].key, read(1, 1)[0].0.key);
    }

    #[test]
    fn an_invalid_model_is_refused() {
        let error = PathGenerator::new(&PathModel { files: 0, ..PathModel::default() }, 1, 1, true).unwrap_err();
        assert!(matches!(&error, TraceError::Wrong(text) if text.contains("`files`")), "{error}");
    }
}
