//! `strftime`, with the conversions and flags of the GNU library in the C locale.

use super::calendar::{Fields, UNIX_EPOCH, days_before_year, is_leap};
use super::{DateTime, MICROSECONDS_A_SECOND, offset_text};

pub const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub fn format(moment: &DateTime, format: &str) -> String {
    let mut output = String::with_capacity(format.len() * 2);
    let mut rest = format;
    while let Some(start) = rest.find('%') {
        output.push_str(&rest[..start]);
        rest = &rest[start..];
        let (directive, after) = Directive::read(rest);
        match directive.and_then(|directive| directive.write(moment)) {
            Some(text) => output.push_str(&text),
            // What is no conversion stays as it is.
            None => output.push_str(&rest[..rest.len() - after.len()]),
        }
        rest = after;
    }
    output.push_str(rest);
    output
}

/// `%`, flags, a width, a modifier, a letter.
struct Directive {
    letter: char,
    padding: Option<char>,
    is_upper: bool,
    swaps_case: bool,
    width: Option<usize>,
    is_plain: bool,
}

/// How a number is filled up.
#[derive(Clone, Copy)]
struct Digits {
    width: usize,
    padding: char,
}

const TWO: Digits = Digits { width: 2, padding: '0' };
const TWO_BLANK: Digits = Digits { width: 2, padding: ' ' };
const THREE: Digits = Digits { width: 3, padding: '0' };
const AS_LONG_AS_IT_IS: Digits = Digits { width: 1, padding: '0' };

impl Directive {
    fn read(text: &str) -> (Option<Self>, &str) {
        let mut directive = Self {
            letter: '%',
            padding: None,
            is_upper: false,
            swaps_case: false,
            width: None,
            is_plain: true,
        };
        let mut characters = text.char_indices().skip(1).peekable();
        while let Some((_, flag)) = characters.next_if(|(_, c)| "_-0^#".contains(*c)) {
            directive.is_plain = false;
            match flag {
                '^' => directive.is_upper = true,
                '#' => directive.swaps_case = true,
                padding => directive.padding = Some(padding),
            }
        }
        while let Some((_, digit)) = characters.next_if(|(_, c)| c.is_ascii_digit()) {
            directive.is_plain = false;
            let width = directive.width.unwrap_or(0) * 10 + digit.to_digit(10).unwrap_or(0) as usize;
            directive.width = Some(width.min(1024));
        }
        if characters.next_if(|(_, c)| "EO".contains(*c)).is_some() {
            directive.is_plain = false;
        }
        match characters.next() {
            Some((index, letter)) => {
                directive.letter = letter;
                (Some(directive), &text[index + letter.len_utf8()..])
            }
            None => (None, ""),
        }
    }

    fn write(&self, moment: &DateTime) -> Option<String> {
        let fields = moment.fields();
        let weekday = moment.weekday();
        let day_name = DAYS.get(usize::try_from(weekday).ok()?)?;
        let month_name = MONTHS.get(usize::try_from(fields.month - 1).ok()?)?;
        let twelve = (fields.hour + 11) % 12 + 1;
        let half = if fields.hour < 12 { "AM" } else { "PM" };
        let (iso_year, iso_week) = iso_week(&fields, weekday);
        let compound = |format: &str| Some(self.text(&super::to_format::format(moment, format)));
        match self.letter {
            'a' => Some(self.text(&day_name[..3])),
            'A' => Some(self.text(day_name)),
            'b' | 'h' => Some(self.text(&month_name[..3])),
            'B' => Some(self.text(month_name)),
            'c' => compound("%a %b %e %H:%M:%S %Y"),
            'C' => Some((fields.year / 100).to_string()),
            'd' => Some(self.number(fields.day, TWO)),
            'D' | 'x' => compound("%m/%d/%y"),
            'e' => Some(self.number(fields.day, TWO_BLANK)),
            'F' => compound("%Y-%m-%d"),
            'g' => Some(self.number(iso_year % 100, TWO)),
            'G' => Some(self.number(iso_year, AS_LONG_AS_IT_IS)),
            'H' => Some(self.number(fields.hour, TWO)),
            'I' => Some(self.number(twelve, TWO)),
            'j' => Some(self.number(fields.day_of_year(), THREE)),
            'k' => Some(self.number(fields.hour, TWO_BLANK)),
            'l' => Some(self.number(twelve, TWO_BLANK)),
            'm' => Some(self.number(fields.month, TWO)),
            'M' => Some(self.number(fields.minute, TWO)),
            'n' => Some("\n".to_owned()),
            'p' if self.swaps_case => Some(half.to_lowercase()),
            'p' => Some(self.text(half)),
            'P' => Some(self.text(&half.to_lowercase())),
            'r' => compound("%I:%M:%S %p"),
            'R' => compound("%H:%M"),
            's' => Some(self.number(unix_seconds(&fields), AS_LONG_AS_IT_IS)),
            'S' => Some(self.number(fields.second, TWO)),
            't' => Some("\t".to_owned()),
            'T' | 'X' => compound("%H:%M:%S"),
            'u' => Some(self.number(weekday + 1, AS_LONG_AS_IT_IS)),
            'U' => Some(self.number(week(&fields, weekday + 1), TWO)),
            'V' => Some(self.number(iso_week, TWO)),
            'w' => Some(self.number((weekday + 1) % 7, AS_LONG_AS_IT_IS)),
            'W' => Some(self.number(week(&fields, weekday), TWO)),
            'y' => Some(self.number(fields.year % 100, TWO)),
            'Y' => Some(self.number(fields.year, AS_LONG_AS_IT_IS)),
            'z' => Some(
                moment
                    .zone()
                    .map_or_else(String::new, |zone| offset_text(zone.unchecked_offset(), "")),
            ),
            'Z' => Some(moment.zone().map_or_else(String::new, super::Zone::name)),
            'f' if self.is_plain => Some(format!("{:06}", fields.microsecond)),
            '%' if self.is_plain => Some("%".to_owned()),
            _ => None,
        }
    }

    fn number(&self, number: i64, digits: Digits) -> String {
        let width = self.width.unwrap_or(digits.width);
        match self.padding {
            Some('-') => number.to_string(),
            Some('_') => format!("{number:width$}"),
            Some(_) => format!("{number:0width$}"),
            None if self.width.is_some() || digits.padding == '0' => format!("{number:0width$}"),
            None => format!("{number:width$}"),
        }
    }

    fn text(&self, text: &str) -> String {
        let text = if self.is_upper || self.swaps_case {
            text.to_uppercase()
        } else {
            text.to_owned()
        };
        let missing = self.width.unwrap_or(0).saturating_sub(text.len());
        let padding = if self.padding == Some('0') { "0" } else { " " };
        padding.repeat(missing) + &text
    }
}

/// The week of the year; days before the first week day of its kind are in week 0.
fn week(fields: &Fields, days_since_week_began: i64) -> i64 {
    (fields.day_of_year() + 6 - days_since_week_began % 7) / 7
}

/// Week and year of ISO 8601: the week belongs to the year that has its Thursday.
fn iso_week(fields: &Fields, weekday: i64) -> (i64, i64) {
    let day = fields.day_of_year() - 1;
    let thursday = day - weekday + 3;
    let length = |year: i64| if is_leap(year) { 366 } else { 365 };
    if thursday < 0 {
        let year = fields.year - 1;
        return (year, (thursday + length(year)) / 7 + 1);
    }
    if thursday >= length(fields.year) {
        return (fields.year + 1, 1);
    }
    (fields.year, thursday / 7 + 1)
}

/// What the fields would be in seconds since 1970 if they were in UTC.
fn unix_seconds(fields: &Fields) -> i64 {
    let days = days_before_year(fields.year) + fields.day_of_year() - 1;
    let since_year_one = days * 86_400 + (fields.hour * 60 + fields.minute) * 60 + fields.second;
    since_year_one - UNIX_EPOCH / MICROSECONDS_A_SECOND
}
