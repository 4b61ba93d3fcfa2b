//! A metadata service over a key-value store: what JuiceFS, 3FS and object-store gateways are at heart, as small as it can
//! be and still right for several clients.
//!
//! | key | value |
//! | --- | --- |
//! | `i` inode | attributes (`record.rs` has the bytes) |
//! | map `d` inode, field: a name | inode and kind |
//! | map `f` inode, field: a chunk's number | up to 64 KiB of the file |
//! | `e` | the epoch: how many changes of names and of directories there were |
//! | `c` epoch | what the change of that epoch concerned |
//!
//! Numbers in keys are eight bytes, least significant first. Every change of a name or of a directory's attributes takes the
//! next epoch, in the same atomic write. A client resolves a path over its cache and then reads the object and the epoch
//! *together*: if the epoch is the one its cache is up to, everything the cache said was right at that moment, and a warm
//! open costs this one round trip at any depth. If not, the client reads what changed, tells its cache, and resolves again.
//! So no client ever acts on a permission or a name that another one has changed.

mod client;
mod data;
mod key_value;
mod keys;
mod memory;
mod record;
#[cfg(feature = "redis")]
mod redis;

pub use self::client::{MetadataError, MetadataStore, OpenFile};
pub use self::key_value::{KeyValue, Read, Write};
pub use self::memory::MemoryKeyValue;
#[cfg(feature = "redis")]
pub use self::redis::RedisKeyValue;
