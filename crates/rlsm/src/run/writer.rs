//! Writing a data file: any number of runs at once, their blocks in pieces between one another, all footers at the end.

use std::sync::Arc;

use super::block::{BlockEncoder, Compression, Location};
use super::building::Building;
use super::file::{self, DataFile};
use super::hashes::Hashes;
use super::open::Run;
use super::{Order, block};
use crate::entry::{Entry, RangeDelete, Sequence};
use crate::error::{Error, Result};
use crate::hash::hash;
use crate::names::FileName;
use crate::storage::{File, Storage};

/// More would make a block longer than one can be.
const BLOCK_BYTES_MAX: usize = 1 << 20;

/// How a data file is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteOptions {
    /// A block takes so many bytes before compression at most, if it has some entries.
    pub block_bytes: usize,
    pub compression: Compression,
    /// Each open run gathers so many bytes before they go to the file.
    pub piece_bytes: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { block_bytes: 4096, compression: Compression::None, piece_bytes: 1 << 20 }
    }
}

/// A complete file, its runs and their hashes, both in the order they were begun in.
pub(crate) type Finished = (Arc<DataFile>, Vec<Arc<Run>>, Vec<Hashes>);

/// A data file that is being written. If anything fails, it is useless: drop it and remove the file.
pub(crate) struct FileWriter {
    output: Output,
    options: WriteOptions,
    blocks: BlockEncoder,
    runs: Vec<Building>,
}

impl FileWriter {
    /// Makes the file of a number; there must be none yet.
    pub fn create(storage: &dyn Storage, number: u64, options: &WriteOptions) -> Result<Self> {
        if !(1..=BLOCK_BYTES_MAX).contains(&options.block_bytes) {
            let what = format!("blocks of {} bytes; 1 to {BLOCK_BYTES_MAX} would be right", options.block_bytes);
            return Err(Error::Invalid { what });
        }
        let name = FileName::Data(number).to_string();
        let file = storage.create(&name).map_err(Error::io("creating", &name))?;
        let blocks = BlockEncoder::new(options.compression).map_err(Error::io("preparing to compress", &name))?;
        let mut output = Output { file, number, name, len: 0, buffer: Vec::new() };
        output.append(&file::header())?;
        Ok(Self { output, options: *options, blocks, runs: Vec::new() })
    }

    /// Begins a run and tells its number: 0, 1, 2, … No sequence pushed into it may be below `lowest`, from which
    /// they are counted: the nearer it is, the smaller the run. A key-ordered run needs no permutation and gets none.
    pub fn run(&mut self, order: Order, with_permutation: bool, lowest: Sequence) -> usize {
        self.runs.push(Building::new(order, with_permutation && order == Order::Hash, lowest));
        self.runs.len() - 1
    }

    /// Adds an entry behind all others of its run, in the run's order.
    pub fn push(&mut self, run: usize, entry: Entry<'_>) -> Result<()> {
        self.push_hashed(run, hash(entry.key), entry)
    }

    /// The same for who has the key's hash already.
    pub fn push_hashed(&mut self, run: usize, hash: u64, entry: Entry<'_>) -> Result<()> {
        let building = &mut self.runs[run];
        if !building.has_room(&entry, self.options.block_bytes) {
            building.close_block(&mut self.blocks).map_err(Error::io("compressing a block of", &self.output.name))?;
            if building.piece_bytes() >= self.options.piece_bytes {
                building.write_piece(&mut self.output)?;
            }
        }
        building.push(hash, entry)
    }

    /// Adds a range delete to a run; entries and range deletes may come in any order among one another.
    pub fn range_delete(&mut self, run: usize, range_delete: RangeDelete) {
        self.runs[run].range_delete(range_delete);
    }

    /// Writes what of a run is still buffered: nothing more is pushed into it.
    pub fn close(&mut self, run: usize) -> Result<()> {
        let building = &mut self.runs[run];
        building.close_block(&mut self.blocks).map_err(Error::io("compressing a block of", &self.output.name))?;
        building.write_piece(&mut self.output)
    }

    /// Writes what is still buffered and all footers, and makes the file durable with one sync; its name is the
    /// caller's to sync.
    pub fn finish(mut self) -> Result<Finished> {
        for building in &mut self.runs {
            building.close_block(&mut self.blocks).map_err(Error::io("compressing a block of", &self.output.name))?;
            building.write_piece(&mut self.output)?;
        }
        let mut footers = Vec::with_capacity(self.runs.len());
        for building in self.runs {
            footers.push(building.write_footer(&mut self.output)?);
        }
        self.output.file.sync().map_err(Error::io("syncing", &self.output.name))?;
        let Output { file, number, name, len, .. } = self.output;
        let data = Arc::new(DataFile { number, name, file, len });
        let (mut runs, mut columns) = (Vec::new(), Vec::new());
        for (extent, footer, hashes) in footers {
            runs.push(Arc::new(Run::new(data.clone(), extent, footer)));
            columns.push(hashes);
        }
        Ok((data, runs, columns))
    }
}

/// The file's end.
pub(crate) struct Output {
    file: Arc<dyn File>,
    number: u64,
    pub name: String,
    pub len: u64,
    /// For who has to put together what to append.
    pub buffer: Vec<u8>,
}

impl Output {
    /// Tells where the bytes lie.
    pub fn append(&mut self, bytes: &[u8]) -> Result<Location> {
        debug_assert!(bytes.len() as u64 == block::padded(bytes.len() as u64));
        self.file.append(bytes).map_err(Error::io("writing", &self.name))?;
        let location = Location { offset: self.len, len: bytes.len() as u64 };
        self.len += location.len;
        Ok(location)
    }
}
