//! A FUSE file system over a directory, or over a metadata store.
//!
//! The kernel asks a FUSE file system for one name at a time and remembers the answers for a while, so that a cache of whole
//! paths saves little here: what is saved is what one look-up costs the file system below. It is built to be measured,
//! and to use a metadata store with ordinary programs. The kernel checks permissions (`default_permissions`).

mod adapter;
mod directory;
mod node_file_system;
mod nodes;
mod stored;
mod unmounter;

use std::io;
use std::path::Path;
use std::time::Duration;

pub use fuser::BackgroundSession;
use fuser::{Config, MountOption, Session, SessionACL};

use self::adapter::Adapter;
pub use self::directory::{DirectoryCounters, DirectoryFileSystem};
pub use self::node_file_system::{
    Attribution, FileType, Handle, NewObject, NodeFileSystem, SetStat, Space, Stat, Writing,
};
pub use self::stored::StoredFileSystem;
pub use self::unmounter::{Unmounted, Unmounter};

/// How a file system is mounted.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// How the mount is called in the table of mounts.
    pub name: String,
    /// How long the kernel may use what it was told without asking again.
    pub kernel_cache: Duration,
    /// Threads that answer the kernel.
    pub threads: usize,
    /// Whether users other than the one who mounts may use it.
    pub allow_other: bool,
}

/// Mounts, and answers the kernel until somebody unmounts. `mounted` is called with what unmounts.
///
/// # Errors
/// If the kernel refuses the mount, or the connection to it fails.
pub fn mount(
    files: impl NodeFileSystem,
    target: &Path,
    options: &MountOptions,
    mounted: impl FnOnce(Unmounter),
) -> io::Result<()> {
    // Whatever becomes of the working directory.
    let target = target.canonicalize()?;
    let mut session = session(files, &target, options)?;
    mounted(Unmounter::new(session.unmount_callable(), &target)?);
    session.run()
}

/// Mounts, and answers the kernel on other threads until the result is dropped, which unmounts.
///
/// # Errors
/// If the kernel refuses the mount.
pub fn spawn(files: impl NodeFileSystem, target: &Path, options: &MountOptions) -> io::Result<BackgroundSession> {
    session(files, target, options)?.spawn()
}

fn session<F: NodeFileSystem>(files: F, target: &Path, options: &MountOptions) -> io::Result<Session<Adapter<F>>> {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(options.name.clone()),
        MountOption::Subtype("backpath".to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoDev,
        MountOption::NoSuid,
    ];
    config.acl = if options.allow_other { SessionACL::All } else { SessionACL::Owner };
    config.n_threads = Some(options.threads.max(1));
    Session::new(Adapter::new(files, options.kernel_cache), target, &config)
}
