//! A store that is awaited.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use backpath::{AsyncStore, Attributes, Counts, Operation, Options, Query, Resolver, Store};

use crate::support::{Scene, user};

/// A store that answers only when it is asked a second time.
struct Hesitant<'a>(&'a Scene);

struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        context.waker().wake_by_ref();
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl AsyncStore for Hesitant<'_> {
    type Entry = Attributes;
    type Error = Infallible;

    async fn root(&self) -> Result<Attributes, Infallible> {
        Once(false).await;
        Store::root(&self.0.files)
    }

    async fn look_up(&self, directory: &Attributes, name: &[u8]) -> Result<Option<Attributes>, Infallible> {
        Once(false).await;
        Store::look_up(&self.0.files, directory, name)
    }
}

/// Polls until it is ready; returns how often it was not.
fn wait<T>(future: impl Future<Output = T>) -> (T, u32) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for pending in 0..1000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return (value, pending);
        }
    }
    panic!("it is never ready");
}

#[test]
fn walks_as_one_that_blocks() {
    let scene = Scene::new(Options::default()).with(&[
        Operation::MakeDirectory(b"/a", 0o755),
        Operation::Symlink(b"/a", b"/l"),
        Operation::Create(b"/a/f", 0o644),
    ]);
    let principal = scene.cache.principal(&user(1));
    let ask = |path: &[u8]| {
        let mut counts = Counts::default();
        let query = Query::new(path);
        let (found, waits) =
            wait(Resolver::new(&scene.cache).resolve_async(&query, &principal, &Hesitant(&scene), &mut counts));
        (found.map(|found| found.path.into_owned()).map_err(|error| error.errno()), waits)
    };
    assert_eq!(ask(b"/l/f"), (Ok(b"/a/f".to_vec()), 4));
    assert_eq!(ask(b"/l/f"), (Ok(b"/a/f".to_vec()), 0));
    assert_eq!(ask(b"/l/g"), (Err(Some(backpath::Errno::NotFound)), 1));
}
