//! A section with a table.

use std::fmt::Write as _;

use super::html::escape;

/// The section `title` with a table of texts; nothing without rows. The first cell of a row is its heading.
pub(super) fn table(title: &str, caption: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let caption =
        if caption.is_empty() { String::new() } else { format!("<p class=\"caption\">{}</p>\n", escape(caption)) };
    let mut html = format!(
        "<section><h2>{}</h2>\n{caption}<div class=\"box\"><table role=\"table\">\n<thead role=\"rowgroup\"><tr \
         role=\"row\">",
        escape(title)
    );
    for column in columns {
        _ = write!(html, "<th role=\"columnheader\" scope=\"col\">{}</th>", escape(column));
    }
    html.push_str("</tr></thead>\n<tbody role=\"rowgroup\">\n");
    for row in rows {
        html.push_str("<tr role=\"row\">");
        for (place, (column, cell)) in columns.iter().zip(row).enumerate() {
            _ = match place {
                0 => write!(html, "<th role=\"rowheader\" scope=\"row\">{}</th>", escape(cell)),
                _ => write!(
                    html,
                    "<td role=\"cell\" data-column=\"{}\"><div>{}</div></td>",
                    escape(column),
                    escape(cell)
                ),
            };
        }
        html.push_str("</tr>\n");
    }
    html + "</tbody></table></div></section>\n"
}
