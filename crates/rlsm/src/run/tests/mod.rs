//! Runs against a model: a sorted list of entries.

mod cursors;
mod damage;
mod files;
mod memory_files;
mod model;
mod salvage;
mod sizes;
