//! The terminal: initialised, drawn, and always restored.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use manometer_analysis::verdict::WatchedDevice;
use manometer_measure::{Clock as _, MonotonicClock};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::Watch;
use super::view::{self, View};

/// How often signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The terminal in its drawing state until dropped; a panic restores it too.
struct Screen(DefaultTerminal);

impl Screen {
    fn take() -> anyhow::Result<Self> {
        Ok(Self(ratatui::try_init()?))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Draws what is watched each interval until a key or `ended` ends it. Returns what was seen, the terminal given back.
pub(super) fn watch(watch: &mut Watch, ended: &AtomicBool) -> anyhow::Result<WatchedDevice> {
    let interval_ns = watch.interval_ns;
    let clock = MonotonicClock;
    let (mut view, mut watched) = (View::default(), WatchedDevice::default());
    let mut screen = Screen::take()?;
    let mut last_ns = clock.now_ns();
    watch.live.sample(last_ns);
    let mut next_ns = last_ns + interval_ns;
    screen.0.draw(|frame| view::draw(&view, frame.area(), frame.buffer_mut()))?;
    while !ended.load(Ordering::Relaxed) {
        let now_ns = clock.now_ns();
        if now_ns >= next_ns {
            let snapshot = watch.live.sample(now_ns);
            watched.add(&snapshot, (now_ns - last_ns) as f64 / 1e9);
            view.push(snapshot);
            view.run = watch.run_state();
            (last_ns, next_ns) = (now_ns, now_ns + interval_ns);
            screen.0.draw(|frame| view::draw(&view, frame.area(), frame.buffer_mut()))?;
        }
        let left = Duration::from_nanos(next_ns.saturating_sub(clock.now_ns())).min(POLL_INTERVAL);
        if event::poll(left)? {
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => match action(key) {
                    Action::End => break,
                    Action::Order(forward) => view.turn_order(forward),
                    Action::None => continue,
                },
                Event::Resize(..) => {}
                _ => continue,
            }
            screen.0.draw(|frame| view::draw(&view, frame.area(), frame.buffer_mut()))?;
        }
    }
    Ok(watched)
}

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    End,
    /// The next order of the processes, or the one before.
    Order(bool),
    None,
}

fn action(key: KeyEvent) -> Action {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => Action::End,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Action::End,
        KeyCode::Right | KeyCode::Char('s') => Action::Order(true),
        KeyCode::Left => Action::Order(false),
        _ => Action::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_last_line_says() {
        let press = |code| action(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(press(KeyCode::Char('q')), Action::End);
        assert_eq!(action(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Action::End);
        assert_eq!(press(KeyCode::Char('c')), Action::None);
        assert_eq!(press(KeyCode::Right), press(KeyCode::Char('s')));
        assert_eq!(press(KeyCode::Left), Action::Order(false));
    }
}
