//! A QR code as a terminal shows it.

use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};

use super::layout::Layout;

/// Black on white, whatever the terminal's own colours are: many readers take no code that is lighter than what is
/// around it. It is no decoration, so that `NO_COLOR` is not asked.
const COLOURS: &str = "\x1b[38;5;16;48;5;231m";
const PLAIN: &str = "\x1b[0m";
/// White on each side, in columns; half as many rows above and below. Four are the rule for paper; with two, as readers
/// of screens do with, the code of a link fits on a terminal of 24 rows.
const MARGIN: usize = 2;

/// The text as a code of half blocks, one line each; words instead where the terminal has no room for it.
pub(super) fn code(text: &str, layout: Layout) -> String {
    // A screen is neither torn nor dirty: the lowest level of correction makes the smallest code.
    let Ok(code) = QrCode::with_error_correction_level(text, EcLevel::L) else { return String::new() };
    let columns = code.width() + 2 * MARGIN;
    if columns > layout.width() {
        return format!("For a QR code the terminal has to be {columns} columns wide.\n");
    }
    let drawn = code.render::<Dense1x2>().quiet_zone(false).build();
    let blank = [""; MARGIN / 2];
    let rows = blank.iter().copied().chain(drawn.lines()).chain(blank.iter().copied());
    rows.map(|row| format!("{COLOURS}{}{row:<width$}{PLAIN}\n", " ".repeat(MARGIN), width = columns - MARGIN)).collect()
}
