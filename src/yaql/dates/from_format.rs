//! `strptime`. As in Python, a format becomes a regular expression.

use super::calendar::{Fields, days_before_year};
use super::to_format::{DAYS, MONTHS};
use super::{DateTime, Result, TimeSpan, Zone};
use crate::python::PythonError;
use crate::python::regex::Patience;
use crate::python::regex_search::{Matches, PatternFlags, SearchRegex};
use crate::python::repr::repr_text;
use crate::python::text::is_blank;

/// What a directive matches.
fn pattern(directive: char) -> Option<String> {
    let fixed = match directive {
        'd' => r"3[0-1]|[1-2]\d|0[1-9]|[1-9]| [1-9]",
        'f' => "[0-9]{1,6}",
        'H' => r"2[0-3]|[0-1]\d|\d",
        'I' => "1[0-2]|0[1-9]|[1-9]",
        'G' | 'Y' => r"\d\d\d\d",
        'j' => r"36[0-6]|3[0-5]\d|[1-2]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9]",
        'm' => "1[0-2]|0[1-9]|[1-9]",
        'M' => r"[0-5]\d|\d",
        'S' => r"6[0-1]|[0-5]\d|\d",
        'U' | 'W' => r"5[0-3]|[0-4]\d|\d",
        'w' => "[0-6]",
        'u' => "[1-7]",
        'V' => r"5[0-3]|0[1-9]|[1-4]\d|\d",
        'y' => r"\d\d",
        'z' => r"[+-]\d\d:?[0-5]\d(?::?[0-5]\d(?:\.\d{1,6})?)?|(?-i:Z)",
        'p' => "am|pm",
        'Z' => "utc|gmt",
        'A' => return Some(DAYS.join("|")),
        'a' => return Some(DAYS.map(|name| &name[..3]).join("|")),
        'B' => return Some(MONTHS.join("|")),
        'b' => return Some(MONTHS.map(|name| &name[..3]).join("|")),
        _ => return None,
    };
    Some(fixed.to_owned())
}

pub fn parse_with_format(text: &str, format: &str, patience: &Patience) -> Result<DateTime> {
    let regex = compiled(format, patience)?;
    let found = Matches::default()
        .next(&regex, text)
        .map_err(|error| PythonError::value_error(error.to_string()))?;
    let Some(found) = found else {
        return Err(PythonError::value_error(format!(
            "time data {} does not match format {}",
            repr_text(text),
            repr_text(format)
        )));
    };
    if found.end() < text.len() {
        return Err(PythonError::value_error(format!(
            "unconverted data remains: {}",
            &text[found.end()..]
        )));
    }
    let mut given = Given::default();
    for (name, index) in regex.group_names() {
        if let Some((start, end)) = found.groups().get(*index).copied().flatten()
            && let Some(directive) = name.chars().next()
        {
            given.take(directive, &text[start..end])?;
        }
    }
    given.moment()
}

/// What means something in a regular expression.
const SPECIAL: &str = "\\.^$*+?(){}[]|";

fn compiled(format: &str, patience: &Patience) -> Result<SearchRegex> {
    let bad = |directive: &str| {
        PythonError::value_error(format!(
            "{} is a bad directive in format {}",
            quoted(directive),
            quoted(format)
        ))
    };
    let mut source = String::from("\\A");
    let mut characters = format.chars().peekable();
    while let Some(character) = characters.next() {
        if is_blank(character) {
            while characters.next_if(|next| is_blank(*next)).is_some() {}
            source.push_str("\\s+");
            continue;
        }
        if character != '%' {
            if SPECIAL.contains(character) {
                source.push('\\');
            }
            source.push(character);
            continue;
        }
        let Some(directive) = characters.next() else {
            return Err(PythonError::value_error(format!(
                "stray % in format {}",
                quoted(format)
            )));
        };
        match directive {
            '%' => source.push('%'),
            'c' => source.push_str(&compound("a b d H:M:S Y")),
            'x' => source.push_str(&compound("m/d/y")),
            'X' => source.push_str(&compound("H:M:S")),
            other => match pattern(other) {
                Some(pattern) => source.push_str(&format!("(?P<{other}>{pattern})")),
                None if is_blank(other) || SPECIAL.contains(other) => return Err(bad("%")),
                None => return Err(bad(&other.to_string())),
            },
        }
    }
    let flags = PatternFlags {
        ignore_case: true,
        ..PatternFlags::default()
    };
    SearchRegex::compile(&source, flags, patience).map_err(|error| PythonError::new("error", error.to_string()))
}

fn compound(letters: &str) -> String {
    let parts = letters.chars().map(|letter| match pattern(letter) {
        Some(pattern) => format!("(?P<{letter}>{pattern})"),
        None if letter == ' ' => "\\s+".to_owned(),
        None => letter.to_string(),
    });
    parts.collect()
}

fn quoted(text: &str) -> String {
    format!("'{text}'")
}

#[derive(Default)]
struct Given {
    year: Option<i64>,
    iso_year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    /// Monday is 0.
    weekday: Option<i64>,
    /// The week, and whether weeks begin on Mondays.
    week: Option<(i64, bool)>,
    iso_week: Option<i64>,
    hour: i64,
    twelve: Option<i64>,
    is_afternoon: Option<bool>,
    minute: i64,
    second: i64,
    microsecond: i64,
    offset: Option<TimeSpan>,
}

impl Given {
    fn take(&mut self, directive: char, text: &str) -> Result<()> {
        let number = crate::python::numeral::int(text)
            .ok()
            .and_then(|number| i64::try_from(number).ok())
            .unwrap_or(0);
        let place_in = |names: &[&str]| {
            let place = names.iter().position(|name| {
                let is_short = text.chars().count() == 3;
                let known = if is_short { &name[..3] } else { name };
                known.eq_ignore_ascii_case(text)
            });
            place.and_then(|place| i64::try_from(place).ok())
        };
        match directive {
            'y' => self.year = Some(if number <= 68 { 2000 + number } else { 1900 + number }),
            'Y' => self.year = Some(number),
            'G' => self.iso_year = Some(number),
            'm' => self.month = Some(number),
            'b' | 'B' => self.month = place_in(&MONTHS).map(|place| place + 1),
            'd' => self.day = Some(number),
            'H' => self.hour = number,
            'I' => self.twelve = Some(number),
            'p' => self.is_afternoon = Some(text.eq_ignore_ascii_case("pm")),
            'M' => self.minute = number,
            'S' => self.second = number,
            'f' => self.microsecond = format!("{text:0<6}").parse().unwrap_or(0),
            'a' | 'A' => self.weekday = place_in(&DAYS),
            'w' => self.weekday = Some((number + 6) % 7),
            'u' => self.weekday = Some(number - 1),
            'j' => self.day_of_year = Some(number),
            'U' => self.week = Some((number, false)),
            'W' => self.week = Some((number, true)),
            'V' => self.iso_week = Some(number),
            'z' => self.offset = Some(offset(text)?),
            _ => {}
        }
        Ok(())
    }

    fn moment(mut self) -> Result<DateTime> {
        self.check_iso_weeks()?;
        if let Some(twelve) = self.twelve {
            let afternoon = self.is_afternoon.unwrap_or(false);
            self.hour = twelve % 12 + if afternoon { 12 } else { 0 };
        }
        let mut fields = self.date()?;
        fields.hour = self.hour;
        fields.minute = self.minute;
        fields.second = self.second;
        fields.microsecond = self.microsecond;
        DateTime::new(&fields, self.offset.map(Zone::Fixed))
    }

    fn check_iso_weeks(&self) -> Result<()> {
        const WEEKDAYS: &str = "a weekday directive ('%A', '%a', '%w', or '%u').";
        let complaint = match (self.iso_year.filter(|_| self.year.is_none()), self.iso_week) {
            (Some(_), week) if week.is_none() || self.weekday.is_none() => {
                format!("ISO year directive '%G' must be used with the ISO week directive '%V' and {WEEKDAYS}")
            }
            (Some(_), _) if self.day_of_year.is_some() => {
                "Day of the year directive '%j' is not compatible with ISO year directive '%G'. Use '%Y' instead."
                    .to_owned()
            }
            (None, Some(_)) if self.week.is_none() && self.weekday.is_none() => {
                format!("ISO week directive '%V' must be used with the ISO year directive '%G' and {WEEKDAYS}")
            }
            (None, Some(_)) if self.week.is_none() => {
                "ISO week directive '%V' is incompatible with the year directive \
                                                       '%Y'. Use the ISO year '%G' instead."
                    .to_owned()
            }
            _ => return Ok(()),
        };
        Err(PythonError::value_error(complaint))
    }

    /// The date from whatever tells it.
    fn date(&self) -> Result<Fields> {
        let year = self.year.unwrap_or(1900);
        let day_number = match (self.day_of_year, self.weekday) {
            (Some(day), _) => Some((year, day)),
            (None, Some(weekday)) => match (self.week, self.iso_year, self.iso_week) {
                (Some((week, on_mondays)), ..) => Some((year, day_of_week_number(year, week, weekday, on_mondays))),
                (None, Some(iso_year), Some(iso_week)) => {
                    Some((iso_year, day_of_iso_week(iso_year, iso_week, weekday)))
                }
                _ => None,
            },
            _ => None,
        };
        match day_number {
            Some((year, day)) => {
                let first = Fields::date(year, 1, 1).microseconds_since_year_one()?;
                let moment = first + (day - 1) * super::MICROSECONDS_A_DAY;
                Ok(Fields::from_microseconds_since_year_one(moment))
            }
            None => Ok(Fields::date(year, self.month.unwrap_or(1), self.day.unwrap_or(1))),
        }
    }
}

fn first_weekday(year: i64) -> i64 {
    days_before_year(year).rem_euclid(7)
}

fn day_of_week_number(year: i64, week: i64, weekday: i64, on_mondays: bool) -> i64 {
    let (first, day) = if on_mondays {
        (first_weekday(year), weekday)
    } else {
        ((first_weekday(year) + 1) % 7, (weekday + 1) % 7)
    };
    let length_of_week_zero = (7 - first) % 7;
    if week == 0 {
        1 + day - first
    } else {
        1 + length_of_week_zero + 7 * (week - 1) + day
    }
}

fn day_of_iso_week(year: i64, week: i64, weekday: i64) -> i64 {
    let fourth_of_january = (first_weekday(year) + 3) % 7;
    let first_monday = 4 - fourth_of_january;
    first_monday + 7 * (week - 1) + weekday
}

/// `+03:00`, `-0130`, `Z`, with seconds and fractions.
fn offset(text: &str) -> Result<TimeSpan> {
    if text == "Z" {
        return Ok(TimeSpan::default());
    }
    let after_hours = text.get(3..).unwrap_or_default();
    let has_colon = after_hours.starts_with(':');
    let seconds_part = text.get(if has_colon { 6.. } else { 5.. }).unwrap_or_default();
    if !seconds_part.is_empty() && seconds_part.starts_with(':') != has_colon {
        return Err(PythonError::value_error(format!("Inconsistent use of : in {text}")));
    }
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let part = |range: std::ops::Range<usize>| digits.get(range).and_then(|part| part.parse::<i64>().ok()).unwrap_or(0);
    let fraction = format!("{:0<6}", digits.get(6..).unwrap_or_default());
    let seconds = part(0..2) * 3600 + part(2..4) * 60 + part(4..6);
    let microseconds = i128::from(seconds) * 1_000_000 + fraction.parse::<i128>().unwrap_or(0);
    TimeSpan::from_microseconds(if text.starts_with('-') {
        -microseconds
    } else {
        microseconds
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_told_in_many_ways() {
        for (text, format, expected) in [
            ("2015-01-02", "%Y-%m-%d", "2015-01-02 00:00:00"),
            ("12 am", "%I %p", "1900-01-01 00:00:00"),
            ("10:20:30.5", "%H:%M:%S.%f", "1900-01-01 10:20:30.500000"),
            ("060 2015", "%j %Y", "2015-03-01 00:00:00"),
            ("2015 10 1", "%Y %U %w", "2015-03-09 00:00:00"),
            ("2015 0 1", "%Y %U %w", "2014-12-29 00:00:00"),
            ("2015 10 1", "%G %V %u", "2015-03-02 00:00:00"),
            ("-01:30:15.5", "%z", "1900-01-01 00:00:00-01:30:15.500000"),
            ("Thu Jan  1 00:00:00 2015", "%c", "2015-01-01 00:00:00"),
        ] {
            assert_eq!(
                parse_with_format(text, format, &Patience::default())
                    .unwrap()
                    .to_string(),
                expected,
                "{text}"
            );
        }
        let complaint = |text, format| {
            parse_with_format(text, format, &Patience::default())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(complaint("2015x", "%Y"), "unconverted data remains: x");
        assert_eq!(complaint("2015", "%Q"), "'Q' is a bad directive in format '%Q'");
        assert_eq!(complaint("29 2", "%d %m"), "day is out of range for month");
    }
}
