//! Sessions: one worker loop, and the controller that drives it.
//!
//! A worker runs one workload. It reads a [`protocol::Job`] and then control lines, and writes [`protocol::Message`]s: as a
//! process of its own ([`worker`]) or on a thread of this one. Its loop ([`session`]) owns the sample tick, the
//! timetable, refusals and every message; what a workload must be able to do is
//! [`manometer_workload::workload::Workload`].
//!
//! The other end is the [`controller`], which starts workers, here or where a command leads to, and receives what they
//! emit. On it stand [`single`], one workload from its start to its end, [`group`], several replays that begin at the
//! same moment, and [`find_max`], the search for the highest rate that meets a goal.

pub mod control;
pub mod controller;
pub mod error;
pub mod find_max;
pub mod group;
pub mod protocol;
pub mod session;
pub mod single;
mod state_reader;
pub mod worker;
