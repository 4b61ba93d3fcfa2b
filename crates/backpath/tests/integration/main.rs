//! Paths from the end against paths from the front.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod awaited;
mod c;
#[cfg(feature = "fuse")]
mod fuse;
mod links;
mod metadata;
mod model;
#[cfg(feature = "redis")]
mod redis;
mod rlsm;
mod seed;
mod support;
mod threads;
