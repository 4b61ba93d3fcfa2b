//! The observers: one file for each series, named after it.
//!
//! To add one, write its file with a constant `OBSERVER`, and add a line below. Sampling, `manometer schema columns`,
//! `docs/columns.md` and the tests use this list; a test fails for a file that is not in it.

use super::observer::ObserverKind;

/// Declares the observers' modules and [`OBSERVERS`].
macro_rules! observers {
    ($($visibility:vis $module:ident;)+) => {
        $($visibility mod $module;)+

        /// All observers, in the order in which they sample and the manual lists them.
        pub const OBSERVERS: &[ObserverKind] = &[$($module::OBSERVER,)+];
    };
}

observers! {
    cpu;
    cpu_cores;
    memory;
    vmstat;
    interrupts;
    pressure_stall;
    temperature;
    filesystem;
    device;
    layer;
    cache;
    pub health;
    foreign_processes;
    process;
    cgroup;
    conductor;
}
