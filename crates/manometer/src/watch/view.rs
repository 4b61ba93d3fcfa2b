//! The content of the screen.

use std::collections::VecDeque;

use manometer_measure::human::bytes_per_s;
use manometer_measure::live::{Activity, LayerActivity, ProcessActivity, Stall, StorageSnapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Cell, Paragraph, Row, Sparkline, Table, Widget as _};

use super::run_state::RunState;
use super::run_text;
use crate::number::number;

/// The number of intervals in the throughput line.
const HISTORY_LENGTH: usize = 200;

/// The text form of one frame.
const TEXT_WIDTH: u16 = 100;
const TEXT_USERS: u16 = 10;

/// The order of the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Order {
    #[default]
    Both,
    Read,
    Written,
}

impl Order {
    const ALL: [Self; 3] = [Self::Both, Self::Read, Self::Written];

    fn key(self, user: &ProcessActivity) -> f64 {
        match self {
            Self::Both => user.bytes_per_s(),
            Self::Read => user.read_bytes_per_s,
            Self::Written => user.write_bytes_per_s,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Both => "read and written",
            Self::Read => "read",
            Self::Written => "written",
        }
    }
}

/// The state of the screen.
#[derive(Debug, Default)]
pub(super) struct View {
    frame: Option<StorageSnapshot>,
    /// The device's bytes per second, the newest last.
    history: VecDeque<u64>,
    order: Order,
    /// The run, where a recording is watched.
    pub(super) run: Option<RunState>,
}

impl View {
    /// Adds the latest frame.
    pub(super) fn push(&mut self, mut frame: StorageSnapshot) {
        let now = frame.layers.first().and_then(|layer| layer.activity.bytes_per_s()).unwrap_or_default();
        self.history.push_back(now as u64);
        self.history.drain(..self.history.len().saturating_sub(HISTORY_LENGTH));
        sort(&mut frame.processes, self.order);
        self.frame = Some(frame);
    }

    /// Selects the next order of the processes, or the previous one.
    pub(super) fn turn_order(&mut self, forward: bool) {
        let count = Order::ALL.len();
        let here = Order::ALL.iter().position(|order| *order == self.order).unwrap_or_default();
        self.order = Order::ALL[(here + if forward { 1 } else { count - 1 }) % count];
        if let Some(frame) = &mut self.frame {
            sort(&mut frame.processes, self.order);
        }
    }
}

fn sort(processes: &mut [ProcessActivity], order: Order) {
    processes.sort_by(|one, other| order.key(other).total_cmp(&order.key(one)).then(one.pid.cmp(&other.pid)));
}

/// Draws everything into `area`.
pub(super) fn draw(view: &View, area: Rect, buffer: &mut Buffer) {
    let Some(frame) = &view.frame else {
        Paragraph::new("Waiting for the first sample ... q quits").render(area, buffer);
        return;
    };
    let run: Vec<Line<'_>> =
        view.run.as_ref().map_or_else(Vec::new, |run| run_text::lines(run).into_iter().map(Line::from).collect());
    let above = if run.is_empty() { 0 } else { u16::try_from(run.len()).unwrap_or(u16::MAX).saturating_add(2) };
    let [run_area, area] = Layout::vertical([Constraint::Length(above), Constraint::Min(0)]).areas::<2>(area);
    if !run.is_empty() {
        Paragraph::new(run).block(titled("run")).render(run_area, buffer);
    }
    let layers = u16::try_from(frame.layers.len()).unwrap_or(u16::MAX);
    let parts = Layout::vertical([
        Constraint::Length(5),
        Constraint::Length(layers.saturating_add(3)),
        Constraint::Length(3),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas::<5>(area);
    history(view, frame, parts[0], buffer);
    device_table(&frame.layers).render(parts[1], buffer);
    Paragraph::new(stalls(frame)).block(titled("stalls, share of the last 10 s")).render(parts[2], buffer);
    user_table(view, frame).render(parts[3], buffer);
    Line::from("q quits   ← → order").style(Style::new().add_modifier(Modifier::DIM)).render(parts[4], buffer);
}

/// One frame as text, without history and keys.
pub(super) fn as_text(view: &View) -> String {
    let Some(frame) = &view.frame else { return String::new() };
    let layers = u16::try_from(frame.layers.len()).unwrap_or(u16::MAX);
    let processes = u16::try_from(frame.processes.len()).unwrap_or(u16::MAX).clamp(1, TEXT_USERS);
    let heights = [layers.saturating_add(3), 3, processes + 3];
    let area = Rect::new(0, 0, TEXT_WIDTH, heights.iter().sum());
    let mut buffer = Buffer::empty(area);
    let parts = Layout::vertical(heights.map(Constraint::Length)).areas::<3>(area);
    device_table(&frame.layers).render(parts[0], &mut buffer);
    Paragraph::new(stalls(frame)).block(titled("stalls, share of the last 10 s")).render(parts[1], &mut buffer);
    user_table(view, frame).render(parts[2], &mut buffer);
    lines(&buffer).join("\n")
}

/// The lines of a buffer without trailing spaces.
fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    let line = |cells: &[ratatui::buffer::Cell]| cells.iter().map(|cell| cell.symbol()).collect::<String>();
    buffer.content.chunks(width).map(|cells| line(cells).trim_end().to_owned()).collect()
}

fn titled(title: &str) -> Block<'_> {
    Block::bordered().title(format!(" {title} "))
}

fn history(view: &View, frame: &StorageSnapshot, area: Rect, buffer: &mut Buffer) {
    let name = frame.layers.first().map_or("", |layer| layer.layer.name.as_str());
    let most = view.history.iter().copied().max().unwrap_or_default();
    let title = format!("{name}: bytes read and written, maximum {}", bytes_per_s(most as f64));
    // The newest value is at the right edge.
    let room = usize::from(area.width.saturating_sub(2));
    let shown: Vec<u64> = view.history.iter().copied().skip(view.history.len().saturating_sub(room)).collect();
    let line = Sparkline::default().data(&shown).style(Style::new().fg(Color::Cyan));
    line.block(titled(&title)).render(area, buffer);
}

fn device_table(layers: &[LayerActivity]) -> Table<'static> {
    let head = ["layer", "read/s", "write/s", "read", "written", "wait r ms", "wait w ms", "busy", "queue", "now"];
    let widths = [13, 8, 8, 13, 13, 9, 9, 5, 6, 4].map(Constraint::Length);
    Table::new(layers.iter().map(layer_row), widths).header(header(&head)).block(titled("device and its layers"))
}

fn header(names: &[&'static str]) -> Row<'static> {
    Row::new(names.iter().map(|name| Cell::from(*name))).style(Style::new().add_modifier(Modifier::BOLD))
}

fn layer_row(layer: &LayerActivity) -> Row<'static> {
    let Activity { busy, queue, in_flight, .. } = layer.activity;
    let activity = &layer.activity;
    let busy_style = match busy {
        Some(share) if share >= 0.9 => Style::new().fg(Color::Red),
        Some(share) if share >= 0.6 => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    };
    Row::new([
        Cell::from(layer.layer.name.clone()),
        Cell::from(cell_text(activity.reads_per_s, number)),
        Cell::from(cell_text(activity.writes_per_s, number)),
        Cell::from(cell_text(activity.read_bytes_per_s, bytes_per_s)),
        Cell::from(cell_text(activity.write_bytes_per_s, bytes_per_s)),
        Cell::from(cell_text(activity.read_wait_ms, number)),
        Cell::from(cell_text(activity.write_wait_ms, number)),
        Cell::from(cell_text(busy, percent)).style(busy_style),
        Cell::from(cell_text(queue, number)),
        Cell::from(cell_text(in_flight, |count| format!("{count:.0}"))),
    ])
}

/// A value, or a dash for a gap.
fn cell_text(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), text)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn stalls(frame: &StorageSnapshot) -> String {
    let one = |name: &str, stall: Option<Stall>| match stall {
        Some(Stall { some, full: Some(full) }) => format!("{name}: some {}, all {}", percent(some), percent(full)),
        Some(Stall { some, full: None }) => format!("{name}: some {}", percent(some)),
        None => format!("{name}: unknown"),
    };
    let stalls = &frame.stalls;
    [one("storage", stalls.io), one("memory", stalls.memory), one("processors", stalls.cpu)].join("   ")
}

fn user_table<'a>(view: &View, frame: &'a StorageSnapshot) -> Table<'a> {
    let row = |user: &'a ProcessActivity| {
        Row::new([
            Cell::from(user.pid.to_string()),
            Cell::from(user.command.as_str()),
            Cell::from(bytes_per_s(user.read_bytes_per_s)),
            Cell::from(bytes_per_s(user.write_bytes_per_s)),
        ])
    };
    let hidden = match frame.hidden_processes {
        0 => String::new(),
        count => format!("; {count} are hidden"),
    };
    let title = format!(" processes on any storage, by bytes {}{hidden} ", view.order.text());
    let widths = [Constraint::Length(9), Constraint::Length(24), Constraint::Length(14), Constraint::Length(14)];
    let head = header(&["pid", "command", "read", "written"]);
    Table::new(frame.processes.iter().map(row), widths).header(head).block(Block::bordered().title(title))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use manometer_measure::host::BlockDevice;
    use manometer_measure::host::layers::{Layer, LayerKind};
    use manometer_measure::live::Stalls;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn user(pid: u32, command: &str, read: f64, written: f64) -> ProcessActivity {
        ProcessActivity { pid, command: command.to_owned(), read_bytes_per_s: read, write_bytes_per_s: written }
    }

    fn layer(name: &str, activity: Activity) -> LayerActivity {
        let device = BlockDevice { major: 8, minor: 0, name: name.to_owned(), sysfs: PathBuf::new() };
        let layer = Layer { name: name.to_owned(), kind: LayerKind::Disk, maps_to: Vec::new(), label: None, device };
        LayerActivity { layer, activity }
    }

    fn frame() -> StorageSnapshot {
        let activity = Activity {
            reads_per_s: Some(1234.0),
            writes_per_s: Some(5.0),
            read_bytes_per_s: Some(5_242_880.0),
            write_bytes_per_s: Some(20_480.0),
            read_wait_ms: Some(0.25),
            write_wait_ms: None,
            busy: Some(0.95),
            queue: Some(3.5),
            in_flight: Some(4.0),
        };
        StorageSnapshot {
            layers: vec![layer("nvme0n1p1", activity), layer("nvme0n1", Activity::default())],
            processes: vec![user(7, "reader", 5_242_880.0, 0.0), user(8, "writer", 0.0, 20_480.0)],
            hidden_processes: 3,
            stalls: Stalls { io: Some(Stall { some: 0.5, full: Some(0.25) }), memory: None, cpu: None },
        }
    }

    fn drawn(view: &View, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(view, frame.area(), frame.buffer_mut())).unwrap();
        lines(terminal.backend().buffer()).join("\n")
    }

    #[test]
    fn the_screen_shows_device_layers_users_and_stalls() {
        let mut view = View::default();
        view.push(frame());
        let screen = drawn(&view, 110, 30);
        for words in [
            "nvme0n1p1: bytes read and written, maximum 5.02 MiB/s",
            "1 234",
            "5 MiB/s",
            "20 KiB/s",
            "95 %",
            "storage: some 50 %, all 25 %",
            "memory: unknown",
            "reader",
            "3 are hidden",
            "q quits",
        ] {
            assert!(screen.contains(words), "`{words}` is not in:\n{screen}");
        }
        let idle = screen.lines().find(|line| line.contains("nvme0n1 ")).unwrap();
        assert_eq!(idle.matches('–').count(), 9, "gaps are shown as gaps: {idle}");
    }

    #[test]
    fn an_empty_view_and_small_screens_draw() {
        assert!(drawn(&View::default(), 80, 24).starts_with("Waiting"));
        let mut view = View::default();
        view.push(frame());
        for (width, height) in [(1, 1), (10, 3), (40, 8)] {
            drawn(&view, width, height);
        }
    }

    #[test]
    fn the_order_of_the_processes_turns_both_ways() {
        let mut view = View::default();
        view.push(frame());
        let first = |view: &View| view.frame.as_ref().unwrap().processes[0].command.clone();
        assert_eq!(first(&view), "reader");
        view.turn_order(false);
        assert_eq!((view.order, first(&view).as_str()), (Order::Written, "writer"));
        view.turn_order(true);
        view.turn_order(true);
        assert_eq!(view.order, Order::Read);
        view.push(frame());
        assert_eq!(first(&view), "reader");
    }

    #[test]
    fn as_text_a_frame_has_no_history_and_no_keys() {
        let mut view = View::default();
        view.push(frame());
        let text = as_text(&view);
        assert!(text.contains("writer") && text.contains("3.50") && !text.contains("q quits"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(TEXT_WIDTH)));
    }
}
