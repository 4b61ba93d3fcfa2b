//! Two tiers on paper: a host's memory over an SSD that caches over the devices that data come from.
//!
//! Event-driven and deterministic: threads of a [`workload`] wait for requests, which the host's page cache, the second
//! level and the models of the [`device`]s answer. After the cache thesis (seed 001), chapters 4 and 6.

pub mod device;
mod events;
mod flights;
mod flows;
mod host;
mod jobs;
mod pages;
mod raid;
mod run;
mod second;
mod second_settings;
mod settings;
mod slots;
mod storage;
mod tasks;
mod tree;
mod wake;
pub mod workload;

pub use flows::{Bytes, Flows};
pub use host::HostSettings;
pub use raid::Raid;
pub use run::{Load, Outcome, run, run_telling};
pub use second_settings::{Congested, Metadata, MetadataSettings, Mode, SecondSettings, Sequential};
pub use settings::{Arrangement, Equal, OriginSettings, Sweep};
