//! The closed loop against a device made of arithmetic, and against the disk.

mod closed_loop;
mod device;
mod disk;
mod recorded;
mod requests;
