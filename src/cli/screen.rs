//! How text looks on a terminal, and where it is no terminal: colours, columns, times.

use std::io::IsTerminal;
use std::time::Duration;

use chrono::{NaiveDateTime, TimeDelta};

/// Colours, where they can be seen and are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    colours: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Plain,
    Strong,
    Faint,
    Good,
    Active,
    Attention,
    Bad,
}

impl Paint {
    /// For stdout; `NO_COLOR` (<https://no-color.org>) switches them off.
    pub fn for_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            colours: std::io::stdout().is_terminal() && !unwanted,
        }
    }

    #[cfg(test)]
    pub fn none() -> Self {
        Self { colours: false }
    }

    pub fn ink(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            _ if !self.colours || text.is_empty() => return text.to_owned(),
            Ink::Plain => return text.to_owned(),
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Active => "36",
            Ink::Attention => "33",
            Ink::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    pub fn strong(self, text: &str) -> String {
        self.ink(Ink::Strong, text)
    }

    pub fn faint(self, text: &str) -> String {
        self.ink(Ink::Faint, text)
    }

    /// The ink of a state such as `CREATE_COMPLETE`.
    pub fn state(self, state: &str) -> String {
        let ink = match state.rsplit_once('_').map_or("", |(_, status)| status) {
            "COMPLETE" => Ink::Good,
            "PROGRESS" => Ink::Active,
            "FAILED" => Ink::Bad,
            _ => Ink::Plain,
        };
        self.ink(ink, state)
    }
}

/// Rows of columns. The last column is not filled up.
#[derive(Debug, Default)]
pub struct Columns {
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Cell {
    text: String,
    ink: Ink,
}

impl Columns {
    pub fn row<const N: usize>(&mut self, cells: [(Ink, String); N]) {
        let cells = cells.into_iter().map(|(ink, text)| Cell {
            text: one_line(&text),
            ink,
        });
        self.rows.push(cells.collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn render(&self, paint: Paint, indent: &str) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0)
        };
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
            text.push_str(indent);
            for (column, cell) in row.iter().enumerate().take(last + 1) {
                text.push_str(&paint.ink(cell.ink, &cell.text));
                if column < last {
                    let gap = widths[column] - cell.text.chars().count() + if widths[column] > 0 { 2 } else { 0 };
                    text.push_str(&" ".repeat(gap));
                }
            }
            text.push('\n');
        }
        text
    }
}

/// Control characters in what tenants write must not reach the terminal.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|character| if is_invisible(character) { ' ' } else { character })
        .collect()
}

/// What moves the cursor, or turns the direction in which the rest is read.
fn is_invisible(character: char) -> bool {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns
}

/// The same for text that may have lines of its own.
pub fn in_lines(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}

/// At most so many characters, the end marked where something was cut.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

/// `3 min 20 s`; two units are enough.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let two = |whole: u64, unit: &str, rest: u64, small: &str| match rest {
        0 => format!("{whole} {unit}"),
        rest => format!("{whole} {unit} {rest} {small}"),
    };
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => two(seconds / 60, "min", seconds % 60, "s"),
        3600..86400 => two(seconds / 3600, "h", seconds % 3600 / 60, "min"),
        _ => two(seconds / 86400, "d", seconds % 86400 / 3600, "h"),
    }
}

/// How long ago something was, as seen at `now`.
pub fn age(moment: NaiveDateTime, now: NaiveDateTime) -> String {
    let age = (now - moment).max(TimeDelta::zero());
    // The tables keep whole seconds.
    let seconds = u64::try_from(age.num_seconds()).unwrap_or(0);
    match seconds {
        0 => "0 s".to_owned(),
        seconds => duration(Duration::from_secs(seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_end_where_they_end() {
        let mut columns = Columns::default();
        let plain = |texts: [&str; 3]| texts.map(|text| (Ink::Plain, text.to_owned()));
        columns.row(plain(["a", "größe", ""]));
        columns.row(plain(["bcd", "x\ny", "end"]));
        assert_eq!(columns.render(Paint::none(), "  "), "  a    größe\n  bcd  x y    end\n");
    }

    #[test]
    fn times_have_two_units_at_most() {
        let shown = |millis| duration(Duration::from_millis(millis));
        assert_eq!(shown(20), "20 ms");
        assert_eq!(shown(59_900), "59 s");
        assert_eq!(shown(200_000), "3 min 20 s");
        assert_eq!(shown(7_260_000), "2 h 1 min");
        assert_eq!(shown(2 * 86_400_000), "2 d");
    }

    #[test]
    fn what_is_long_is_cut_between_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
    }
}
