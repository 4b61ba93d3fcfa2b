//! The mount itself: from the kernel's consent to the last user.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use backpath::fuse::{self, MountOptions, NodeFileSystem, Unmounted, Unmounter};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use super::args::Args;
use super::summary::{Asked, Summary};
use crate::exit_status::ExitStatus;
use crate::output;

/// Serves `files` until they are unmounted, and then prints what `asked` says.
pub fn serve(
    args: &Args,
    files: impl NodeFileSystem,
    kernel_cache: Duration,
    asked: impl FnOnce() -> Asked,
) -> anyhow::Result<ExitStatus> {
    let (source, target) = (args.source.to_string(), args.target.display().to_string());
    let options = MountOptions {
        name: source.clone(),
        kernel_cache: args.kernel_cache.map_or(kernel_cache, |given| given.0),
        threads: args.threads.into(),
        allow_other: rustix::process::geteuid().is_root(),
    };
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    let mounted = |unmounter: Unmounter| {
        output::note(&format!("{source} is mounted at {target}; `umount {target}` or Ctrl-C ends it"));
        std::thread::spawn(move || end_by_signals(signals, unmounter));
    };
    fuse::mount(files, &args.target, &options, mounted)
        .map_err(explained)
        .with_context(|| format!("{target}: cannot be mounted"))?;
    let cache_capacity = (!args.without_cache).then_some(args.capacity);
    let summary = Summary { source, target, cache_capacity, asked: asked() };
    args.format.print(|| &summary, || summary.text())?;
    Ok(ExitStatus::Done)
}

/// What the host lacks.
fn explained(error: io::Error) -> anyhow::Error {
    let remedy = if !Path::new("/dev/fuse").exists() {
        "there is no /dev/fuse: load the kernel's module (`modprobe fuse`), or give it to the container (`--device /dev/fuse`)"
    } else if !rustix::process::geteuid().is_root() {
        "who is not root needs `fusermount3` and access to /dev/fuse: install the package fuse3, or be root"
    } else {
        "the kernel refuses: a container needs the capability SYS_ADMIN"
    };
    anyhow::Error::new(error).context(remedy)
}

/// The first signal unmounts, the second ends the program.
fn end_by_signals(mut signals: Signals, mut unmounter: Unmounter) {
    let mut signals = signals.forever();
    signals.next();
    if let Err(error) = unmount(&mut unmounter) {
        output::note(&format!("cannot unmount: {error} (interrupt again to end now)"));
    }
    if let Some(signal) = signals.next() {
        // What is detached ends with this process.
        let _ = emulate_default_handler(signal);
    }
}

fn unmount(unmounter: &mut Unmounter) -> io::Result<()> {
    match unmounter.unmount()? {
        Unmounted::Gone => Ok(()),
        Unmounted::InUse => {
            output::note(
                "the mount is in use: it is detached, and ends with its last user (interrupt again to end now)",
            );
            unmounter.detach()
        }
    }
}
