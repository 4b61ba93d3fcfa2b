//! A file server and a mail server: the macro-workloads of section 6.3 of the cache thesis, after Filebench.
//!
//! All files have the mean size: an append rewrites the last bytes of a file. As in Filebench, new files are created in
//! turn, and most reads are of recently written files.

use manometer_measure::{ByteSize, Span};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

use super::file_layout::FileLayout;
use super::{IoRange, StepAction, StepGenerator, THREADS_MAX, WorkloadStep, too_large, too_many_threads};
use crate::CacheError;
use crate::tier::host::Host;
use crate::tier::page_cache::PAGE;

/// The settings of the files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSetSettings {
    /// The number of files.
    pub files: u64,
    /// The size of each file.
    pub mean_size: ByteSize,
    /// The bytes of an append.
    pub append: ByteSize,
    /// The number of threads.
    pub threads: u32,
    /// The share of reads and appends that go to recently created files; the others go to any file.
    pub recent: f64,
    /// The number of recently created files.
    pub recent_files: u64,
    /// CPU time of an operation in addition to the host's.
    #[serde(default)]
    pub think: Span,
}

/// The files, and the next one to create.
#[derive(Debug)]
struct FileSet {
    layout: FileLayout,
    files: u64,
    size: u64,
    append: u64,
    recent: f64,
    recent_files: u64,
    /// The number of files created.
    made: u64,
    think_ns: u64,
    /// The multiplier that scatters creations over the files.
    spread: u64,
    random: Xoshiro256PlusPlus,
    /// The step and the file of each thread.
    threads: Vec<(u8, u64)>,
}

impl FileSet {
    fn new(settings: &FileSetSettings, host: &Host<'_>, scale: u64, seed: u64) -> Result<Self, CacheError> {
        let FileSetSettings { files, mean_size, append, threads, recent, recent_files, think } = *settings;
        let files = (files / scale).max(1);
        if mean_size.0 == 0 || append.0 == 0 || append > mean_size || threads == 0 {
            return Err(CacheError::Invalid(
                "`mean_size`, `append` and `threads` have to be above 0, and `append` no more than `mean_size`"
                    .to_owned(),
            ));
        }
        if u64::from(threads) > THREADS_MAX {
            return Err(too_many_threads());
        }
        if mean_size.0.saturating_mul(files) > host.bytes() {
            return Err(too_large("the set of files", mean_size.0.saturating_mul(files), host.bytes()));
        }
        if !(0.0..=1.0).contains(&recent) || recent_files == 0 {
            return Err(CacheError::Invalid("`recent` is not from 0 to 1, or `recent_files` is 0".to_owned()));
        }
        let layout = FileLayout::new(host.journal_end(), files, mean_size.0, scale);
        if layout.end() > host.bytes() {
            return Err(too_large("the set of files", layout.end(), host.bytes()));
        }
        Ok(Self {
            layout,
            files,
            size: mean_size.0,
            append: append.0,
            recent,
            recent_files: (recent_files / scale).clamp(1, files),
            made: 0,
            think_ns: think.nanoseconds(),
            spread: coprime(files),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            threads: vec![(0, 0); threads as usize],
        })
    }

    /// The file of a creation.
    fn of_turn(&self, turn: u64) -> u64 {
        (u128::from(turn % self.files) * u128::from(self.spread) % u128::from(self.files)) as u64
    }

    /// The next file to create.
    fn create(&mut self) -> u64 {
        self.made += 1;
        self.of_turn(self.made - 1)
    }

    /// A file to read: a recently created one, or any.
    fn pick(&mut self) -> u64 {
        if self.random.random_range(0.0..1.0) < self.recent {
            let back = self.random.random_range(0..self.recent_files);
            return self.of_turn(self.made + self.files - 1 - back);
        }
        self.random.random_range(0..self.files)
    }

    /// A file to delete: it is created again when its turn comes.
    fn pick_deleted(&mut self) -> u64 {
        self.of_turn(self.made + u64::from(self.threads.len() as u32))
    }

    fn whole(&self, file: u64) -> IoRange {
        IoRange::new(self.layout.data(file), self.size)
    }

    /// All pages of a file.
    fn room(&self, file: u64) -> IoRange {
        IoRange::new(self.layout.data(file), self.size.next_multiple_of(PAGE))
    }

    fn tail(&self, file: u64) -> IoRange {
        IoRange::new(self.layout.data(file) + (self.size - self.append) / 4096 * 4096, self.append)
    }

    /// The step of a thread in a loop of `steps`, and its file.
    fn turn(&mut self, thread: u32, steps: u8) -> (u8, u64) {
        let (step, file) = self.threads[thread as usize];
        self.threads[thread as usize].0 = (step + 1) % steps;
        (step, file)
    }

    /// Sets a thread's file.
    fn at(&mut self, thread: u32, file: u64) -> u64 {
        self.threads[thread as usize].1 = file;
        file
    }
}

/// A number near the golden section of `files`, coprime to it.
fn coprime(files: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let from = (files as f64 * 0.618_034) as u64;
    (from.max(1)..).find(|number| divisor(*number, files) == 1).unwrap_or(1)
}

/// Each thread repeatedly creates and writes a file, appends to another, reads a third, deletes a fourth and stats a
/// fifth. Files are in many directories, which the file system spreads over its storage.
#[derive(Debug)]
pub struct Fileserver(FileSet);

impl Fileserver {
    /// Creates the workload on a host's storage.
    ///
    /// # Errors
    /// The settings are invalid, or do not fit it.
    pub fn new(settings: &FileSetSettings, host: &Host<'_>, scale: u64, seed: u64) -> Result<Self, CacheError> {
        let mut files = FileSet::new(settings, host, scale, seed)?;
        files.layout = files.layout.spread(host.bytes());
        Ok(Self(files))
    }
}

impl StepGenerator for Fileserver {
    fn threads(&self) -> u32 {
        self.0.threads.len() as u32
    }

    fn next(&mut self, thread: u32) -> WorkloadStep {
        let files = &mut self.0;
        let (step, file) = files.turn(thread, 6);
        let file = match step {
            0 => files.create(),
            1 => file,
            4 => files.pick_deleted(),
            _ => files.pick(),
        };
        let (file, layout) = (files.at(thread, file), files.layout);
        let step = match step {
            0 => WorkloadStep { metadata: layout.named(file), ..WorkloadStep::plain(StepAction::Change) },
            1 => WorkloadStep {
                metadata: layout.grown(file),
                ..WorkloadStep::plain(StepAction::Write(files.whole(file)))
            },
            2 => WorkloadStep {
                metadata: layout.grown(file),
                ..WorkloadStep::plain(StepAction::Write(files.tail(file)))
            },
            3 => WorkloadStep::plain(StepAction::Read(files.whole(file))),
            4 => WorkloadStep {
                metadata: layout.named(file),
                ..WorkloadStep::plain(StepAction::Discard(files.room(file)))
            },
            _ => WorkloadStep::plain(StepAction::Look(layout.inode(file))),
        };
        WorkloadStep { think_ns: files.think_ns, ..step }
    }
}

/// Each thread repeatedly deletes a mail, creates and syncs one, reads another, appends to it and syncs that, and reads
/// a third. Files are in one directory, contiguous.
#[derive(Debug)]
pub struct Varmail(FileSet);

impl Varmail {
    /// Creates the workload on a host's storage.
    ///
    /// # Errors
    /// The settings are invalid, or do not fit it.
    pub fn new(settings: &FileSetSettings, host: &Host<'_>, scale: u64, seed: u64) -> Result<Self, CacheError> {
        FileSet::new(settings, host, scale, seed).map(Self)
    }
}

impl StepGenerator for Varmail {
    fn threads(&self) -> u32 {
        self.0.threads.len() as u32
    }

    fn next(&mut self, thread: u32) -> WorkloadStep {
        let files = &mut self.0;
        let (step, file) = files.turn(thread, 8);
        let file = match step {
            0 => files.pick_deleted(),
            1 => files.create(),
            4 | 7 => files.pick(),
            _ => file,
        };
        let (file, layout) = (files.at(thread, file), files.layout);
        let step = match step {
            0 => WorkloadStep {
                metadata: layout.named(file),
                ..WorkloadStep::plain(StepAction::Discard(files.room(file)))
            },
            1 => WorkloadStep { metadata: layout.named(file), ..WorkloadStep::plain(StepAction::Change) },
            2 => WorkloadStep {
                metadata: layout.grown(file),
                ..WorkloadStep::plain(StepAction::Write(files.tail(file)))
            },
            3 | 6 => WorkloadStep::plain(StepAction::Sync(files.whole(file))),
            5 => WorkloadStep {
                metadata: layout.grown(file),
                ..WorkloadStep::plain(StepAction::Write(files.tail(file)))
            },
            _ => WorkloadStep::plain(StepAction::Read(files.whole(file))),
        };
        WorkloadStep { think_ns: files.think_ns, ..step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_scattered_over_all_files() {
        for files in [1, 2, 9, 1000, 123_456] {
            let spread = coprime(files);
            let mut hit: Vec<u64> = (0..files).map(|rank| rank * spread % files).collect();
            hit.sort_unstable();
            hit.dedup();
            assert_eq!(hit.len() as u64, files);
        }
    }
}
