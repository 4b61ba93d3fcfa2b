//! Fits a model to a trace, generates a trace from it, and compares the two.

use std::path::Path;

use super::error::error;
use super::fit::FirstPass;
use super::generate::Generator;
use super::model::TraceModel;
use crate::character::{Character, CharacterOptions};
use crate::error::TraceError;
use crate::format::ReadOptions;
use crate::open::open;
use crate::reader::TraceReader;
use crate::record::Record;

/// A model fitted to a trace.
#[derive(Debug)]
pub struct Synthesis {
    /// The model; its fit error is unknown if the generated trace is shorter than the original.
    pub model: TraceModel,
    /// The damage that ended the original, if any.
    pub damage: Option<TraceError>,
}

/// Fits a model to the trace at `path`, which is read twice, and generates `requests` requests from it, by default as
/// many as the original has. `write` consumes them, and its result is returned.
///
/// # Errors
/// The trace cannot be read or modelled, or `write` fails.
pub fn synthesise<T>(
    path: &Path,
    options: &ReadOptions,
    requests: Option<u64>,
    seed: u64,
    write: impl FnOnce(&mut dyn TraceReader) -> Result<T, TraceError>,
) -> Result<(Synthesis, T), TraceError> {
    let mut original = Character::new(CharacterOptions::default());
    let mut first = FirstPass::read(open(path, options)?.reader.as_mut(), &mut original)?;
    let damage = first.take_damage();
    let mut model = first.fit(open(path, options)?.reader.as_mut(), &original)?;
    let generator = Generator::new(&model, requests.unwrap_or(model.requests), seed)?;
    let mut generated = CharacterisingReader::new(generator, model.requests);
    let written = write(&mut generated)?;
    model.fit_error = (generated.left == 0).then(|| error(&original, &generated.character));
    Ok((Synthesis { model, damage }, written))
}

/// A reader whose first `left` records are characterised.
struct CharacterisingReader<R> {
    reader: R,
    character: Character,
    left: u64,
}

impl<R> CharacterisingReader<R> {
    fn new(reader: R, records: u64) -> Self {
        Self { reader, character: Character::new(CharacterOptions::default()), left: records }
    }
}

impl<R: TraceReader> TraceReader for CharacterisingReader<R> {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let read = self.reader.read(batch)?;
        let characterised = read.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.character.add(&batch[..characterised]);
        self.left -= characterised as u64;
        Ok(read)
    }
}
