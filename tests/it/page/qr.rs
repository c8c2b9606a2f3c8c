//! The QR code of a link as a terminal shows it: read back from the screen, of light colours and of dark ones.

use crate::support::browser::{Browser, DESKTOP};
use crate::support::home::Home;
use crate::support::terminal::Terminal;
use crate::support::tmux::Tmux;
use serde_json::json;

const PUBLIC_URL: &str = "https://laptop.tail0123ab.ts.net";
/// A cell of the screen in pixels: twice as high as it is wide.
const CELL: (usize, usize) = (4, 8);

/// The colours of a terminal that are its own.
#[derive(Clone, Copy, Debug)]
struct Theme {
    text: u8,
    back: u8,
}

const LIGHT: Theme = Theme { text: 0, back: 255 };
const DARK: Theme = Theme { text: 230, back: 20 };

#[test]
fn the_code_that_a_small_terminal_shows_is_the_link_in_light_and_dark_colours() {
    let home = Home::new();
    home.write_config(&format!("public_url = \"{PUBLIC_URL}\"\npublic_listen = \"127.0.0.1:0\"\n"));
    let _gate = home.serve();
    for theme in [LIGHT, DARK] {
        let command = home.command(&["device", "link"]);
        let tmux = Tmux::running_at(&home, &command, (80, 24));
        let shown = || tmux.run(&["capture-pane", "-p", "-e", "-N"]);
        let mut read = None;
        tmux.wait("a code that can be read", |_| {
            read = decoded(&shown(), theme);
            read.is_some()
        });
        let whole = tmux.run(&["capture-pane", "-p", "-J", "-S", "-"]);
        let link = whole.lines().map(str::trim).find(|line| line.starts_with(PUBLIC_URL)).unwrap();
        assert_eq!(read.as_deref(), Some(link), "{theme:?}");
    }
}

#[test]
fn a_terminal_that_is_too_narrow_for_a_code_shows_the_link_alone() {
    let home = Home::new();
    home.write_config(&format!("public_url = \"{PUBLIC_URL}\"\npublic_listen = \"127.0.0.1:0\"\n"));
    let _gate = home.serve();
    let tmux = Tmux::running_at(&home, &home.command(&["device", "link"]), (30, 24));
    tmux.until("columns wide");
    let screen = tmux.screen();
    assert!(screen.contains(PUBLIC_URL.get(..20).unwrap()) && !screen.contains('\u{2588}'), "{screen}");
}

#[test]
fn a_link_that_leads_each_device_to_itself_has_no_code_and_says_why() {
    for (public_url, has_code) in [("http://localhost:9000", false), ("http://[::1]:9000", false), (PUBLIC_URL, true)] {
        let home = Home::new();
        home.write_config(&format!("public_url = \"{public_url}\"\npublic_listen = \"127.0.0.1:0\"\n"));
        let gate = home.serve();
        let link = gate.post("/api/v1/devices/links", &json!({})).expect(200).json();
        assert_eq!(link["qr"].is_array(), has_code, "{public_url}");
        if has_code {
            continue;
        }
        let tmux = Tmux::running_at(&home, &home.command(&["device", "link"]), (100, 24));
        tmux.until("No QR code");
        let screen = tmux.screen();
        assert!(screen.contains(public_url) && !screen.contains('\u{2588}'), "{screen}");
        let browser = Browser::start(&home);
        let page = browser.linked("a", &gate, &["admin"], DESKTOP);
        page.click("nav a[href='#/devices']");
        page.click("[data-action=makeLink]");
        page.see_text(".new-link", "where the tunnel ends");
        assert_eq!(page.count(".new-link canvas"), 0);
    }
}

#[test]
fn without_an_address_for_other_devices_it_is_said_how_to_make_one() {
    let home = Home::new();
    let _gate = home.serve();
    let said = Terminal::start(home.command(&["device", "link"])).shown_whole();
    assert!(said.contains("public_url is not set") && said.contains("tailscale serve 8789"), "{said}");
}

/// What a reader of such codes finds on this screen.
fn decoded(screen: &str, theme: Theme) -> Option<String> {
    let halves = halves(screen, theme);
    // Nothing is shown yet.
    let width = halves.iter().map(Vec::len).max().filter(|columns| *columns > 0)? * CELL.0;
    let pixel = |x: usize, y: usize| {
        let row = &halves[y / (CELL.1 / 2)];
        row.get(x / CELL.0).copied().unwrap_or(theme.back)
    };
    let mut picture = rqrr::PreparedImage::prepare_from_greyscale(width, halves.len() * CELL.1 / 2, pixel);
    let grids = picture.detect_grids();
    grids.iter().find_map(|grid| grid.decode().ok()).map(|(_, text)| text)
}

/// How light the upper and the lower half of each cell is, a row of the result for each.
fn halves(screen: &str, theme: Theme) -> Vec<Vec<u8>> {
    let (mut text, mut back) = (theme.text, theme.back);
    let mut rows = vec![];
    for line in screen.lines() {
        let (mut upper, mut lower) = (vec![], vec![]);
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            if letter == '\u{1b}' {
                let code: String = letters.by_ref().skip(1).take_while(|letter| *letter != 'm').collect();
                (text, back) = coloured(&code, (text, back), theme);
                continue;
            }
            upper.push(if "▀█".contains(letter) { text } else { back });
            lower.push(if "▄█".contains(letter) { text } else { back });
        }
        rows.extend([upper, lower]);
    }
    rows
}

/// The colours after this order to the terminal: the two that our code uses, and its own.
fn coloured(code: &str, (mut text, mut back): (u8, u8), theme: Theme) -> (u8, u8) {
    if code.is_empty() || code == "0" {
        return (theme.text, theme.back);
    }
    for (order, light) in [("38;5;16", 0), ("38;5;231", 255)] {
        text = if code.contains(order) { light } else { text };
    }
    for (order, light) in [("48;5;16", 0), ("48;5;231", 255)] {
        back = if code.contains(order) { light } else { back };
    }
    (if code.starts_with("39") { theme.text } else { text }, if code.contains("49") { theme.back } else { back })
}
