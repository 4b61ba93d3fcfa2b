//! Who asks: the sources of requests.
//!
//! [`io`] reads and writes files, the seed's `access_time3` done better, [`files`] makes, uses and deletes many; [`kv`] is YCSB on a key-value
//! engine, [`replay`] a recorded trace
//! on one; [`command`] is an external program. All are driven through [`control`] and tell what they did through [`protocol`] messages, so
//! that a thread, a worker process or a person at a terminal can run them alike.

pub mod command;
pub mod control;
pub mod files;
pub mod io;
pub mod kv;
pub mod protocol;
pub mod replay;
pub mod script;
pub mod settings;
