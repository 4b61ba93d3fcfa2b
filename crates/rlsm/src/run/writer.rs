//! Writing a data file: any number of runs at once, their pieces interleaved, all footers at the end.

use std::sync::Arc;

use super::Order;
use super::block::{BlockEncoder, Compression};
use super::builder::RunBuilder;
use super::file::{self, DataFile};
use super::handle::Run;
use super::hashes::HashColumn;
use super::output::DataFileOutput;
use crate::entry::{Entry, RangeTombstone, SequenceNumber};
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::hash::hash;
use crate::storage::Storage;

/// A larger block could exceed the limit of a block's body.
const BLOCK_BYTES_MAX: usize = 1 << 20;

/// Options of a data file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataFileOptions {
    /// The limit of a block before compression, if it has some entries, in bytes.
    pub block_bytes: usize,
    pub compression: Compression,
    /// The size of the pieces that a run is written in, in bytes.
    pub piece_bytes: usize,
}

impl Default for DataFileOptions {
    fn default() -> Self {
        Self { block_bytes: 4096, compression: Compression::None, piece_bytes: 1 << 20 }
    }
}

/// A complete file, its runs and their hash columns, in the order in which the runs were begun.
pub(crate) type WrittenDataFile = (Arc<DataFile>, Vec<Arc<Run>>, Vec<HashColumn>);

/// Writes a data file. After a failure the file is useless: drop the writer and remove the file.
pub(crate) struct DataFileWriter {
    output: DataFileOutput,
    options: DataFileOptions,
    blocks: BlockEncoder,
    runs: Vec<RunBuilder>,
}

impl DataFileWriter {
    /// Creates the file with this number, which must not exist.
    pub fn create(storage: &dyn Storage, number: u64, options: &DataFileOptions) -> Result<Self> {
        if !(1..=BLOCK_BYTES_MAX).contains(&options.block_bytes) {
            let problem = format!("the block size is {} bytes; it must be 1 to {BLOCK_BYTES_MAX}", options.block_bytes);
            return Err(Error::Invalid { problem });
        }
        let name = FileName::Data(number).to_string();
        let file = storage.create(&name).map_err(Error::io("creating", &name))?;
        let blocks =
            BlockEncoder::new(options.compression).map_err(Error::io("initialising the compression of", &name))?;
        let mut output = DataFileOutput { file, number, name, len: 0, buffer: Vec::new() };
        output.append(&file::header())?;
        Ok(Self { output, options: *options, blocks, runs: Vec::new() })
    }

    /// Begins a run. Returns its index: 0, 1, 2, … No sequence number in it may be below `lowest`, which they are
    /// stored relative to: the closer it is, the smaller the run. A key-ordered run gets no permutation.
    pub fn run(&mut self, order: Order, with_permutation: bool, lowest: SequenceNumber) -> usize {
        self.runs.push(RunBuilder::new(order, with_permutation && order == Order::Hash, lowest));
        self.runs.len() - 1
    }

    /// Adds an entry to a run, in the run's order.
    pub fn push(&mut self, run: usize, entry: Entry<'_>) -> Result<()> {
        self.push_hashed(run, hash(entry.key), entry)
    }

    /// As [`DataFileWriter::push`], with the key's hash.
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

    /// Adds a range tombstone to a run, at any time.
    pub fn range_delete(&mut self, run: usize, range_delete: RangeTombstone) {
        self.runs[run].range_delete(range_delete);
    }

    /// Writes what is buffered of a run. No more entries may be added to it.
    pub fn close(&mut self, run: usize) -> Result<()> {
        let building = &mut self.runs[run];
        building.close_block(&mut self.blocks).map_err(Error::io("compressing a block of", &self.output.name))?;
        building.write_piece(&mut self.output)
    }

    /// Writes what is buffered and all footers, and syncs the file. The caller syncs the directory.
    pub fn finish(mut self) -> Result<WrittenDataFile> {
        for building in &mut self.runs {
            building.close_block(&mut self.blocks).map_err(Error::io("compressing a block of", &self.output.name))?;
            building.write_piece(&mut self.output)?;
        }
        let mut footers = Vec::with_capacity(self.runs.len());
        for building in self.runs {
            footers.push(building.write_footer(&mut self.output)?);
        }
        self.output.file.sync().map_err(Error::io("syncing", &self.output.name))?;
        let DataFileOutput { file, number, name, len, .. } = self.output;
        let data = Arc::new(DataFile { number, name, file, len });
        let (mut runs, mut columns) = (Vec::new(), Vec::new());
        for (extent, footer, hashes) in footers {
            runs.push(Arc::new(Run::new(data.clone(), extent, footer)));
            columns.push(hashes);
        }
        Ok((data, runs, columns))
    }
}
