//! Sessions: one worker loop, and the controller that drives it.
//!
//! A worker runs one workload. It reads a [`protocol::Job`] and then control lines, and writes [`protocol::Message`]s: as a
//! separate process ([`worker`]) or on a thread of this one. Its loop ([`worker_loop`]) owns the sample tick, the
//! timetable, refusals and every message; what a workload must be able to do is
//! [`manometer_workload::interface::Workload`].
//!
//! The other end is the [`controller`], which starts workers, here or where a command leads to, and receives what they
//! emit. On it stand [`single`], one workload from its start to its end, [`group`], several replays that begin at the
//! same moment, and [`find_max`], the search for the highest rate that meets a goal.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use manometer_session::protocol::{Control, Job, Message};
//! use manometer_session::single::{self, MessageHandler};
//! use serde_json::json;
//!
//! struct RequestCount(u64);
//!
//! impl MessageHandler for RequestCount {
//!     fn receive(&mut self, message: Message, _received_ns: u64) -> Vec<Control> {
//!         match message {
//!             Message::Ready { .. } => return vec![Control::Go],
//!             Message::Sample(sample) => self.0 += sample.operations.values().map(|counts| counts.requests).sum::<u64>(),
//!             _ => {}
//!         }
//!         Vec::new()
//!     }
//!
//!     fn is_over(&self, _now_ns: u64) -> bool {
//!         false
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! let settings = json!({ "engine": "null", "workload": "ycsb-c", "records": 1000, "operations": 10_000 });
//! let job = json!({ "name": "db", "directory": directory, "interval_ms": 100, "seed": 1, "kind": "kv", "settings": settings });
//! let job: Job = serde_json::from_value(job)?;
//! let mut count = RequestCount(0);
//! single::run(&job, &AtomicBool::new(false), &mut count)?.remove()?;
//! assert_eq!(count.0, 10_000);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make the files that they damage"))]

mod confinement;
pub mod control;
pub mod controller;
pub mod error;
pub mod find_max;
pub mod group;
pub mod guard;
pub mod listening_time;
pub mod protocol;
pub mod sample_totals;
pub mod single;
mod state_reader;
pub mod worker;
pub mod worker_loop;
