//! Dates as people write them, read as dateutil's parser reads them: a text is cut into words, numbers and separators,
//! and each number is taken for what its length, its neighbours and what is known already make it.

mod date;
mod tokens;

use date::{Date, Label};
use tokens::{Decimal, integer, tokens};

use super::calendar::{Fields, days_in_month};
use super::to_format::{DAYS, MONTHS};
use super::{DateTime, Result, TimeSpan, Zone};
use crate::python::PythonError;
use crate::python::numeral::{is_decimal_digit, plain_digit};

const JUMPS: [&str; 18] = [
    " ", ".", ",", ";", "-", "/", "'", "at", "on", "and", "ad", "m", "t", "of", "st", "nd", "rd", "th",
];
const UTC_NAMES: [&str; 3] = ["utc", "gmt", "z"];
const LABELS: [&[&str]; 3] = [
    &["h", "hour", "hours"],
    &["m", "minute", "minutes"],
    &["s", "second", "seconds"],
];

/// Why a text is no date: nothing but that it is none, or an exception that Python lets through.
type Read<T> = std::result::Result<T, NoDate>;
struct NoDate;

/// What a text does not tell is taken from today (midnight).
pub fn parse(text: &str, today: &DateTime) -> Result<DateTime> {
    let refuse = |complaint: &str| PythonError::new("ParserError", format!("{complaint}: {text}"));
    let mut reader = Reader::new(text, today.fields());
    let date = reader.read().and_then(|()| reader.resolved_date());
    let Ok((year, month, day)) = date else {
        return Err(refuse("Unknown string format"));
    };
    let time = &reader.time;
    let has_time = [time.hour, time.minute, time.second, time.microsecond]
        .iter()
        .any(Option::is_some);
    let has_date = year.is_some() || month.is_some() || day.is_some() || reader.weekday.is_some();
    if !has_date && !has_time && reader.zone_name.is_none() && reader.zone_offset.is_none() {
        return Err(refuse("String does not contain a date"));
    }
    reader
        .moment(year, month, day, today)
        .map_err(|error| match error.class {
            "ValueError" => refuse(&error.message),
            _ => error,
        })
}

#[derive(Default)]
struct Time {
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    microsecond: Option<i64>,
}

fn place_in(names: &[&str], token: &str) -> Option<i64> {
    let token = token.to_lowercase();
    let place = names.iter().position(|name| {
        let name = name.to_lowercase();
        token == name || token == name[..3] || (token == "sept" && name == "september")
    });
    place.and_then(|place| i64::try_from(place).ok())
}

fn month(token: &str) -> Option<i64> {
    place_in(&MONTHS, token).map(|place| place + 1)
}

/// Hours, minutes or seconds.
fn label(token: &str) -> Option<usize> {
    let token = token.to_lowercase();
    LABELS.iter().position(|names| names.contains(&token.as_str()))
}

fn is_jump(token: &str) -> bool {
    JUMPS.contains(&token.to_lowercase().as_str())
}

/// Whether it is the afternoon.
fn half_of_day(token: &str) -> Option<bool> {
    match token.to_lowercase().as_str() {
        "am" | "a" => Some(false),
        "pm" | "p" => Some(true),
        _ => None,
    }
}

fn is_utc(name: &str) -> bool {
    UTC_NAMES.contains(&name.to_lowercase().as_str())
}

fn in_half(hour: i64, is_afternoon: bool) -> i64 {
    match hour {
        ..12 if is_afternoon => hour + 12,
        12 if !is_afternoon => 0,
        hour => hour,
    }
}

struct Reader {
    tokens: Vec<String>,
    next: usize,
    this_year: i64,
    date: Date,
    time: Time,
    weekday: Option<i64>,
    zone_name: Option<String>,
    zone_offset: Option<i64>,
}

impl Reader {
    fn new(text: &str, today: Fields) -> Self {
        Self {
            tokens: tokens(text),
            next: 0,
            this_year: today.year,
            date: Date::default(),
            time: Time::default(),
            weekday: None,
            zone_name: None,
            zone_offset: None,
        }
    }

    fn token(&self, index: usize) -> Option<&str> {
        self.tokens.get(index).map(String::as_str)
    }

    fn needed(&self, index: usize) -> Read<String> {
        self.tokens.get(index).cloned().ok_or(NoDate)
    }

    fn read(&mut self) -> Read<()> {
        while let Some(token) = self.tokens.get(self.next).cloned() {
            let here = self.next;
            if is_float(&token) {
                self.number(here, &token)?;
            } else if let Some(weekday) = place_in(&DAYS, &token) {
                self.weekday = Some(weekday);
            } else if let Some(month) = month(&token) {
                self.month_name(here, month)?;
            } else if let Some(is_afternoon) = half_of_day(&token) {
                let hour = self.time.hour.filter(|hour| (0..=12).contains(hour)).ok_or(NoDate)?;
                self.time.hour = Some(in_half(hour, is_afternoon));
            } else if self.could_be_zone(&token, self.zone_offset) {
                self.zone(here, token);
            } else if self.time.hour.is_some() && (token == "+" || token == "-") {
                self.numbered_zone(here, if token == "+" { 1 } else { -1 })?;
            } else if !is_jump(&token) {
                return Err(NoDate);
            }
            self.next += 1;
        }
        Ok(())
    }

    /// `Jan-01-99`, `Jan of 01`, or a month and nothing with it.
    fn month_name(&mut self, here: usize, month: i64) -> Read<()> {
        self.date.push(month, Some(Label::Month))?;
        let Some(separator) = self.tokens.get(here + 1).cloned() else {
            return Ok(());
        };
        if separator == "-" || separator == "/" {
            self.date.push_token(&self.needed(here + 2)?, None)?;
            self.next += 2;
            if self.token(here + 3) == Some(separator.as_str()) {
                self.date.push_token(&self.needed(here + 4)?, None)?;
                self.next += 2;
            }
            return Ok(());
        }
        let is_of = separator == " "
            && self.token(here + 3) == Some(" ")
            && self
                .token(here + 2)
                .is_some_and(|token| token.eq_ignore_ascii_case("of"));
        if let Some(year) = self.tokens.get(here + 4).filter(|_| is_of).cloned() {
            if year.chars().all(is_decimal_digit) {
                let year = self.full_year(integer(&year)?, false);
                self.date.push_token(&year.to_string(), Some(Label::Year))?;
            }
            self.next += 4;
        }
        Ok(())
    }

    fn could_be_zone(&self, token: &str, offset: Option<i64>) -> bool {
        self.time.hour.is_some()
            && self.zone_name.is_none()
            && offset.is_none()
            && token.chars().count() <= 5
            && (token.chars().all(|c| c.is_ascii_uppercase()) || token == "z")
    }

    /// `GMT+3` is taken to say that GMT is what the clock shows and three hours more.
    fn zone(&mut self, here: usize, name: String) {
        self.zone_offset = is_utc(&name).then_some(0);
        let is_utc = is_utc(&name);
        self.zone_name = Some(name);
        let Some(sign) = self.tokens.get_mut(here + 1) else {
            return;
        };
        if sign == "+" || sign == "-" {
            *sign = if sign == "+" { "-" } else { "+" }.to_owned();
            self.zone_offset = None;
            if is_utc {
                self.zone_name = None;
            }
        }
    }

    /// `-0300`, `-03:00`, `-3`, with a name in parentheses perhaps.
    fn numbered_zone(&mut self, here: usize, sign: i64) -> Read<()> {
        let digits = self.needed(here + 1)?;
        let length = digits.chars().count();
        let mut after = here + 2;
        let (hours, minutes) = if length == 4 {
            let split = digits.char_indices().nth(2).map_or(digits.len(), |(index, _)| index);
            (integer(&digits[..split])?, integer(&digits[split..])?)
        } else if self.token(here + 2) == Some(":") {
            after += 2;
            (integer(&digits)?, integer(&self.needed(here + 3)?)?)
        } else if length <= 2 {
            (integer(&digits)?, 0)
        } else {
            return Err(NoDate);
        };
        self.next = after - 1;
        self.zone_offset = Some(sign * (hours * 3600 + minutes * 60));
        let name = self.tokens.get(after + 2).cloned();
        let is_named = self.token(after).is_some_and(is_jump)
            && self.token(after + 1) == Some("(")
            && self.token(after + 3) == Some(")");
        if let Some(name) = name.filter(|name| is_named && name.chars().count() >= 3 && self.could_be_zone(name, None))
        {
            self.zone_name = Some(name);
            self.next += 4;
        }
        Ok(())
    }

    fn number(&mut self, here: usize, token: &str) -> Read<()> {
        let value = Decimal::read(token).ok_or(NoDate)?;
        let length = token.chars().count();
        let plain: String = token.chars().map(plain_digit).collect();
        let following = self.tokens.get(here + 1).cloned();
        let is_labelled = following
            .as_deref()
            .is_some_and(|next| next == ":" || label(next).is_some());
        if self.date.numbers.len() == 3 && matches!(length, 2 | 4) && self.time.hour.is_none() && !is_labelled {
            // 19990101T23[59]
            self.time.hour = Some(integer(&plain[..2])?);
            if length == 4 {
                self.time.minute = Some(integer(&plain[2..])?);
            }
            return Ok(());
        }
        if length == 6 || (length > 6 && plain.find('.') == Some(6)) {
            return self.six_digits(&plain);
        }
        if matches!(length, 8 | 12 | 14) {
            return self.many_digits(&plain);
        }
        if let Some(label_place) = self.label_place(here) {
            return self.labelled(label_place, here, value, &plain);
        }
        if self.tokens.len() > here + 2 && following.as_deref() == Some(":") {
            return self.clock(here, value);
        }
        if let Some(separator) = following
            .clone()
            .filter(|next| matches!(next.as_str(), "-" | "/" | "."))
        {
            return self.separated(here, &plain, &separator);
        }
        if following.as_deref().is_none_or(is_jump) {
            self.next += 1;
            match self.token(here + 2).and_then(half_of_day) {
                Some(is_afternoon) => {
                    self.time.hour = Some(in_half(value.whole, is_afternoon));
                    self.next += 1;
                }
                None => self.date.push_number(value)?,
            }
            return Ok(());
        }
        if let Some(is_afternoon) = following.as_deref().and_then(half_of_day)
            && value.whole < 24
        {
            self.time.hour = Some(in_half(value.whole, is_afternoon));
            self.next += 1;
            return Ok(());
        }
        if self.date.could_be_day(value) {
            return self.date.push_number(value);
        }
        Err(NoDate)
    }

    /// `YYMMDD`, or `HHMMSS` with fractions perhaps.
    fn six_digits(&mut self, digits: &str) -> Read<()> {
        if self.date.numbers.is_empty() && !digits.contains('.') {
            for part in [&digits[..2], &digits[2..4], &digits[4..]] {
                self.date.push_token(part, None)?;
            }
            return Ok(());
        }
        self.time.hour = Some(integer(&digits[..2])?);
        self.time.minute = Some(integer(&digits[2..4])?);
        self.seconds(&digits[4..])
    }

    /// `YYYYMMDD[HHMM[SS]]`
    fn many_digits(&mut self, digits: &str) -> Read<()> {
        self.date.push_token(&digits[..4], Some(Label::Year))?;
        self.date.push_token(&digits[4..6], None)?;
        self.date.push_token(&digits[6..8], None)?;
        if digits.len() > 8 {
            self.time.hour = Some(integer(&digits[8..10])?);
            self.time.minute = Some(integer(&digits[10..12])?);
        }
        if digits.len() > 12 {
            self.time.second = Some(integer(&digits[12..])?);
        }
        Ok(())
    }

    fn seconds(&mut self, text: &str) -> Read<()> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, fraction)) if fraction.contains('.') => return Err(NoDate),
            Some((whole, fraction)) => (whole, fraction),
            None => (text, "0"),
        };
        self.time.second = Some(integer(whole)?);
        let microseconds: String = format!("{fraction:0<6}").chars().take(6).collect();
        self.time.microsecond = Some(integer(&microseconds)?);
        Ok(())
    }

    /// Where the label of a number is: `12h`, `12 h`, `12h04`, or at the very end `12 h 04`.
    fn label_place(&self, here: usize) -> Option<usize> {
        let labelled = |place: usize| self.token(place).is_some_and(|token| label(token).is_some());
        let is_blank = |place: usize| self.token(place) == Some(" ");
        if labelled(here + 1) {
            Some(here + 1)
        } else if is_blank(here + 1) && labelled(here + 2) {
            Some(here + 2)
        } else if here > 0 && labelled(here - 1) {
            Some(here - 1)
        } else if here > 1 && here + 1 == self.tokens.len() && is_blank(here - 1) && labelled(here - 2) {
            Some(here - 2)
        } else {
            None
        }
    }

    fn labelled(&mut self, label_place: usize, here: usize, value: Decimal, digits: &str) -> Read<()> {
        let label = self.token(label_place).and_then(label).unwrap_or(0);
        // A label before the number is that of the number before.
        let unit = if label_place > here {
            self.next = label_place;
            label
        } else {
            label + 1
        };
        match unit {
            0 => {
                self.time.hour = Some(value.whole);
                if let Some(minutes) = value.sixtieths() {
                    self.time.minute = Some(minutes);
                }
            }
            1 => self.minutes(value),
            2 => return self.seconds(digits),
            _ => {}
        }
        Ok(())
    }

    fn minutes(&mut self, value: Decimal) {
        self.time.minute = Some(value.whole);
        self.time.second = value.sixtieths();
    }

    /// `HH:MM[:SS[.ss]]`
    fn clock(&mut self, here: usize, hour: Decimal) -> Read<()> {
        self.time.hour = Some(hour.whole);
        let minutes = Decimal::read(&self.needed(here + 2)?).ok_or(NoDate)?;
        self.minutes(minutes);
        self.next += 2;
        if self.token(here + 3) == Some(":")
            && let Some(seconds) = self.tokens.get(here + 4).cloned()
        {
            self.seconds(&seconds)?;
            self.next += 2;
        }
        Ok(())
    }

    /// `01-01[-01]`, `01-Jan[-01]`
    fn separated(&mut self, here: usize, first: &str, separator: &str) -> Read<()> {
        self.date.push_token(first, None)?;
        self.next += 1;
        let Some(second) = self.tokens.get(here + 2).filter(|token| !is_jump(token)).cloned() else {
            return Ok(());
        };
        if second.chars().all(is_decimal_digit) {
            self.date.push_token(&second, None)?;
        } else {
            self.date.push(month(&second).ok_or(NoDate)?, Some(Label::Month))?;
        }
        self.next += 1;
        if self.token(here + 3) == Some(separator) {
            let third = self.needed(here + 4)?;
            match month(&third) {
                Some(month) => self.date.push(month, Some(Label::Month))?,
                None => self.date.push_token(&third, None)?,
            }
            self.next += 2;
        }
        Ok(())
    }

    /// A year of two digits is one of the hundred around this year.
    fn full_year(&self, year: i64, has_century: bool) -> i64 {
        if year >= 100 || has_century {
            return year;
        }
        let year = year + self.this_year / 100 * 100;
        if year >= self.this_year + 50 {
            year - 100
        } else if year < self.this_year - 50 {
            year + 100
        } else {
            year
        }
    }

    fn resolved_date(&self) -> Read<(Option<i64>, Option<i64>, Option<i64>)> {
        let (year, month, day) = self.date.resolved()?;
        let year = year.map(|year| self.full_year(year, self.date.has_century));
        Ok((year, month, day))
    }

    fn moment(&self, year: Option<i64>, month: Option<i64>, day: Option<i64>, today: &DateTime) -> Result<DateTime> {
        let mut fields = today.fields();
        let (new_year, new_month) = (year.unwrap_or(fields.year), month.unwrap_or(fields.month));
        fields.day = match day {
            Some(day) => day,
            None if !(1..=12).contains(&new_month) => {
                return Err(PythonError::value_error(format!(
                    "bad month number {new_month}; must be 1-12"
                )));
            }
            None => fields.day.min(days_in_month(new_year, new_month)),
        };
        fields.year = in_c_int(new_year)?;
        fields.month = in_c_int(new_month)?;
        fields.hour = in_c_int(self.time.hour.unwrap_or(fields.hour))?;
        fields.minute = in_c_int(self.time.minute.unwrap_or(fields.minute))?;
        fields.second = in_c_int(self.time.second.unwrap_or(fields.second))?;
        fields.microsecond = self.time.microsecond.unwrap_or(fields.microsecond);
        let mut moment = DateTime::new(&fields, None)?;
        if let Some(weekday) = self.weekday.filter(|_| day.is_none_or(|day| day == 0)) {
            let days = (weekday - moment.weekday()).rem_euclid(7);
            moment = moment.plus(TimeSpan::from_seconds(days * 86_400))?;
        }
        Ok(match self.zone_told() {
            Some(zone) => moment.in_zone(zone),
            None => moment,
        })
    }

    fn zone_told(&self) -> Option<Zone> {
        let is_utc = self.zone_name.as_deref().is_some_and(is_utc);
        match self.zone_offset {
            Some(0) => Some(Zone::Utc),
            Some(_) if is_utc => Some(Zone::Utc),
            Some(offset) => Some(Zone::Offset {
                name: self.zone_name.as_deref().map(Into::into),
                offset: TimeSpan::from_seconds(offset),
            }),
            // A name that nobody knows.
            None => None,
        }
    }
}

/// What Python's `float()` takes.
fn is_float(token: &str) -> bool {
    token.starts_with(is_decimal_digit) || crate::python::numeral::float(token).is_ok()
}

fn in_c_int(number: i64) -> Result<i64> {
    match i32::try_from(number) {
        Ok(_) => Ok(number),
        Err(_) => Err(PythonError::new(
            "OverflowError",
            "signed integer is greater than maximum",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let today = DateTime::new(&Fields::date(2026, 11, 29), None).unwrap();
        parse(text, &today).map_or_else(|error| error.to_string(), |moment| moment.to_string())
    }

    #[test]
    fn people_write_dates_in_many_ways() {
        for (text, expected) in [
            ("29.8.2015", "2015-08-29 00:00:00"),
            ("2015-08-29T10:11:12.5Z", "2015-08-29 10:11:12.500000+00:00"),
            ("Thu Sep 25 10:36:28 2003", "2003-09-25 10:36:28"),
            ("20030925T104941-0300", "2003-09-25 10:49:41-03:00"),
            ("10h36m28.5s", "2026-11-29 10:36:28.500000"),
            ("Sep of 03", "2003-09-29 00:00:00"),
            ("3rd of May 2001", "2001-05-03 00:00:00"),
            ("5:50 A.M. on June 13, 1990", "1990-06-13 05:50:00"),
            ("friday", "2026-12-04 00:00:00"),
            ("10 pm", "2026-11-29 22:00:00"),
            ("2003-09-25 10:49 GMT+3", "2003-09-25 10:49:00-03:00"),
            ("", "String does not contain a date: "),
            ("nonsense", "Unknown string format: nonsense"),
            ("2015-13-45", "month must be in 1..12: 2015-13-45"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
