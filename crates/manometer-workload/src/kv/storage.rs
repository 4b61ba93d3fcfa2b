//! Opens an engine where a workload keeps its records: in a folder, in an external server, or nowhere.

use manometer_target::engine::directory::{DatabaseDirectory, DatabaseManifest};
use manometer_target::engine::external::{ExternalCleanup, ExternalData};
use manometer_target::engine::{Engine, EngineError, EngineInfo, EngineOptions, OpenRequest, StorageKind};

use crate::interface::{WorkloadContext, WorkloadData};

/// The engine to open, and the marker of its records.
pub(crate) struct EngineRequest<'a> {
    pub(crate) engine: &'static EngineInfo,
    pub(crate) options: &'a EngineOptions,
    pub(crate) value_bytes: usize,
    pub(crate) marker: DatabaseManifest,
    /// Whether this process loads the records of an external server.
    pub(crate) loads: bool,
}

/// The place of the records of an open engine, and their state.
pub(crate) struct EngineData {
    database: Option<DatabaseDirectory>,
    external: Option<ExternalData>,
    loads: bool,
}

/// Opens the engine of `request` at `place`.
///
/// # Errors
/// The folder, the server or the engine cannot be used.
pub(crate) fn open(
    place: &WorkloadContext,
    request: EngineRequest<'_>,
) -> Result<(Box<dyn Engine>, EngineData), EngineError> {
    let EngineRequest { engine, options, value_bytes, marker, loads } = request;
    let on_disk = engine.storage == StorageKind::Disk && !options.use_external_server();
    let prepare = || DatabaseDirectory::prepare(&place.folder(), marker.clone(), place.existing);
    let database = on_disk.then(prepare).transpose()?;
    let directory = database.as_ref().map_or_else(|| place.folder(), DatabaseDirectory::database);
    let engine = (engine.open)(&OpenRequest { directory: &directory, options, value_bytes })?;
    let prepare = |server| ExternalData::prepare(server, marker.clone(), place.existing);
    let external = engine.external_server().filter(|_| loads).map(prepare).transpose()?;
    Ok((engine, EngineData { database, external, loads }))
}

impl EngineData {
    /// Whether the records of an earlier run are reused.
    pub(crate) fn is_reused(&self) -> bool {
        self.database.as_ref().is_some_and(DatabaseDirectory::is_reused)
            || self.external.as_ref().is_some_and(ExternalData::is_reused)
    }

    /// Marks the records as loaded.
    pub(crate) fn set_loaded(&mut self, engine: &dyn Engine) -> Result<(), EngineError> {
        self.database.as_mut().map_or(Ok(()), DatabaseDirectory::set_loaded)?;
        self.external.as_mut().map_or(Ok(()), |data| data.set_loaded(engine))
    }

    /// Marks the records as changed since loading.
    pub(crate) fn set_changed(&mut self, engine: &dyn Engine) -> Result<(), EngineError> {
        self.database.as_mut().map_or(Ok(()), DatabaseDirectory::set_changed)?;
        self.external.as_mut().map_or(Ok(()), |data| data.set_changed(engine))
    }

    /// The data that remain once `engine` is closed.
    pub(crate) fn into_data(self, engine: Box<dyn Engine>) -> WorkloadData {
        let ours = self.loads && !self.is_reused();
        WorkloadData { database: self.database, external: if ours { ExternalCleanup::of(engine) } else { None } }
    }
}
