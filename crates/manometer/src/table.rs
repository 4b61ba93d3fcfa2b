//! Tables.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// An empty table with a header; all columns except the first `left` are aligned to the right.
pub fn table(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_header(head);
    if table.width() == Some(0) {
        // A terminal that knows no size of its own.
        table.force_no_tty();
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if index < left { CellAlignment::Left } else { CellAlignment::Right });
    }
    table
}
