//! Power cuts of a real Linux: a kernel under user-mode-linux has a program's files on ext4, on a device that records every
//! write and every flush (dm-log-writes). From the recording, the device is reconstructed as a power cut at many points
//! leaves it: with all that was flushed, and any of the rest, torn at sectors. A second kernel mounts it and looks at it.

mod check;
mod cut;
mod device;
mod guest;
mod machine;
mod marker;
mod processor_state;
mod record;
mod recording;

pub use check::{Checked, DEVICES_MAX, check, look_at_devices};
pub use cut::{Cut, Replay, UnflushedFate};
pub use device::{with_file_system, write};
pub use guest::{run_guest, variable};
pub use machine::Machine;
pub use marker::MarkerWriter;
pub use record::{record, work_until_cut};
pub use recording::{Entry, Marker, Recording};
