//! A measured operation, and the load of the engine's own I/O at that time.

/// Loads are classified by their power of two, up to this many classes.
pub(super) const LOAD_CLASSES: usize = 6;

/// The kinds of I/O that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IoKind {
    /// A sync of a WAL.
    Sync,
    /// A read of about a block that had to wait for the device.
    Read,
}

pub(super) const IO_KINDS: usize = 2;

/// A measured operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatencySample {
    pub kind: IoKind,
    pub load: DeviceLoad,
    pub latency_ns: u64,
}

/// The load that the engine itself puts on the device: only latencies at the same load are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceLoad {
    /// Whether the engine also reads or writes in bulk.
    pub is_busy: bool,
    /// The power of two of how much is requested at once.
    pub log2: usize,
}

impl DeviceLoad {
    pub fn new(is_busy: bool, amount: u64) -> Self {
        Self { is_busy, log2: (amount.max(1).ilog2() as usize).min(LOAD_CLASSES - 1) }
    }
}
