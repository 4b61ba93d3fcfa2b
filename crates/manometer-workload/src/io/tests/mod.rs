//! The closed loop against a device made of arithmetic, and against the disk.

mod device;
mod disk;
mod loop_;
mod requests;
