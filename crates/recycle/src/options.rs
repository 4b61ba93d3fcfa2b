//! How a region is set up.

use std::fmt;

use crate::Result;
use crate::choices::{Faults, Policy, Replacement};
use crate::core::{Budget, EvictionRules};
use crate::recovery::OnError;

/// How a region is set up. `Options { memory: 1 << 30, ..Options::default() }`.
#[derive(Clone)]
pub struct Options {
    /// Most bytes of the file that are in memory at once; whole pages. Buffers of reads under way come on top:
    /// [`Options::read_ahead`] for each thread that faults at once. With [`Options::budget`], that one counts.
    pub memory: u64,
    /// See [`Policy`]. With [`Options::budget`], that one's counts.
    pub policy: Policy,
    /// See [`Replacement`]. With [`Options::budget`], that one's counts.
    pub replacement: Replacement,
    /// Most pages that are recycled at once; at most an eighth of the budget. With [`Options::budget`], that one's
    /// counts.
    pub batch: u32,
    /// Most bytes that are read at once for a stream; at most an eighth of the budget and 1 MiB. 0 reads page by page.
    pub read_ahead: u64,
    /// See [`Faults`]; for mapped regions only.
    pub faults: Faults,
    /// A budget that several regions share.
    pub budget: Option<Budget>,
    /// Is asked about errors of accesses to mapped memory and told of failed write-backs. Without it they fail.
    /// It may run in a signal handler: it must not touch mapped memory of a region, nor wait for the thread that
    /// faulted.
    pub on_error: Option<OnError>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            policy: Policy::default(),
            replacement: Replacement::default(),
            batch: 32,
            read_ahead: 512 << 10,
            faults: Faults::default(),
            budget: None,
            on_error: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("memory", &self.memory)
            .field("policy", &self.policy)
            .field("replacement", &self.replacement)
            .field("batch", &self.batch)
            .field("read_ahead", &self.read_ahead)
            .field("faults", &self.faults)
            .field("budget", &self.budget)
            .field("on_error", &self.on_error.is_some())
            .finish()
    }
}

impl Budget {
    /// A budget of `options.memory` bytes, with the options' policy, replacement and batch.
    ///
    /// # Errors
    /// The budget holds no page, or the memory or the thread that it needs cannot be had.
    pub fn new(options: &Options) -> Result<Self> {
        let Options { memory, policy, replacement, batch, .. } = *options;
        Self::with_rules(memory, EvictionRules { policy, replacement, batch })
    }
}
