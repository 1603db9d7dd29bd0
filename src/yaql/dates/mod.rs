//! Moments and spans of time as Python's `datetime` has them, with the time zones of dateutil.

mod calendar;
mod free_form;
mod from_format;
mod to_format;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

pub(super) use calendar::Fields;
pub(super) use free_form::parse;
pub(super) use from_format::parse_with_format;

use crate::python::PythonError;
use crate::python::repr::repr_text;

type Result<T> = std::result::Result<T, PythonError>;

pub const MICROSECONDS_A_SECOND: i64 = 1_000_000;
const MICROSECONDS_A_DAY: i64 = 86_400 * MICROSECONDS_A_SECOND;

/// A span of time in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan(i128);

const MOST_DAYS: i128 = 999_999_999;

impl TimeSpan {
    pub fn from_microseconds(microseconds: i128) -> Result<Self> {
        let days = microseconds.div_euclid(i128::from(MICROSECONDS_A_DAY));
        if days.abs() <= MOST_DAYS {
            return Ok(Self(microseconds));
        }
        Err(PythonError::new(
            "OverflowError",
            if i32::try_from(days).is_ok() {
                format!("days={days}; must have magnitude <= 999999999")
            } else {
                "Python int too large to convert to C int".to_owned()
            },
        ))
    }

    pub fn from_seconds(seconds: i64) -> Self {
        Self(i128::from(seconds) * i128::from(MICROSECONDS_A_SECOND))
    }

    /// Rounded to a microsecond, half to even.
    pub fn from_float_microseconds(microseconds: f64) -> Result<Self> {
        let whole = crate::python::arithmetic::truncate(microseconds.round_ties_even())?;
        Self::from_microseconds(i128::try_from(whole).unwrap_or(i128::MAX))
    }

    pub fn total_microseconds(self) -> i128 {
        self.0
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub fn plus(self, other: Self) -> Result<Self> {
        Self::from_microseconds(self.0 + other.0)
    }

    pub fn minus(self, other: Self) -> Result<Self> {
        Self::from_microseconds(self.0 - other.0)
    }

    pub fn negated(self) -> Result<Self> {
        Self::from_microseconds(-self.0)
    }

    /// Python keeps days, seconds and microseconds; only the days are ever negative.
    pub fn days(self) -> i64 {
        i64::try_from(self.0.div_euclid(i128::from(MICROSECONDS_A_DAY))).unwrap_or(i64::MAX)
    }

    fn rest_of_day(self) -> i64 {
        i64::try_from(self.0.rem_euclid(i128::from(MICROSECONDS_A_DAY))).unwrap_or(0)
    }

    pub fn seconds(self) -> i64 {
        self.rest_of_day() / MICROSECONDS_A_SECOND
    }

    pub fn microseconds(self) -> i64 {
        self.rest_of_day() % MICROSECONDS_A_SECOND
    }

    pub fn repr(self) -> String {
        let parts = [
            ("days", self.days()),
            ("seconds", self.seconds()),
            ("microseconds", self.microseconds()),
        ];
        let shown: Vec<String> = parts
            .iter()
            .filter(|(_, value)| *value != 0)
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!(
            "datetime.timedelta({})",
            if shown.is_empty() {
                "0".to_owned()
            } else {
                shown.join(", ")
            }
        )
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.days() {
            0 => {}
            days @ (1 | -1) => write!(f, "{days} day, ")?,
            days => write!(f, "{days} days, ")?,
        }
        let seconds = self.seconds();
        write!(f, "{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        match self.microseconds() {
            0 => Ok(()),
            microseconds => write!(f, ".{microseconds:06}"),
        }
    }
}

/// A time zone, which is always an offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    Utc,
    /// dateutil's `tzoffset`
    Offset {
        name: Option<Rc<str>>,
        offset: TimeSpan,
    },
    /// Python's own `timezone`
    Fixed(TimeSpan),
}

impl Zone {
    /// As yaql makes one from a span of time.
    pub fn from_span(offset: TimeSpan) -> Self {
        if offset.is_zero() {
            return Self::Utc;
        }
        Self::Offset { name: None, offset }
    }

    fn unchecked_offset(&self) -> TimeSpan {
        match self {
            Self::Utc => TimeSpan::default(),
            Self::Offset { offset, .. } | Self::Fixed(offset) => *offset,
        }
    }

    /// Python lets everybody make a zone, and complains when its offset is needed.
    pub fn offset(&self) -> Result<TimeSpan> {
        let offset = self.unchecked_offset();
        if offset.0.abs() >= i128::from(MICROSECONDS_A_DAY) {
            return Err(PythonError::value_error(
                "offset must be a timedelta strictly between -timedelta(hours=24) and timedelta(hours=24).",
            ));
        }
        Ok(offset)
    }

    fn name(&self) -> String {
        match self {
            Self::Utc => "UTC".to_owned(),
            Self::Offset { name, .. } => name.as_deref().unwrap_or_default().to_owned(),
            Self::Fixed(offset) if offset.is_zero() => "UTC".to_owned(),
            Self::Fixed(offset) => format!("UTC{}", offset_text(*offset, ":")),
        }
    }

    fn repr(&self) -> String {
        match self {
            Self::Utc => "tzutc()".to_owned(),
            Self::Offset { name, offset } => {
                let name = name.as_deref().map_or_else(|| "None".to_owned(), repr_text);
                format!("tzoffset({name}, {})", offset.0 / i128::from(MICROSECONDS_A_SECOND))
            }
            Self::Fixed(offset) if offset.is_zero() => "datetime.timezone.utc".to_owned(),
            Self::Fixed(offset) => format!("datetime.timezone({})", offset.repr()),
        }
    }
}

/// `+03:00`, with seconds and microseconds where there are any.
fn offset_text(offset: TimeSpan, separator: &str) -> String {
    let sign = if offset.0 < 0 { '-' } else { '+' };
    let microseconds = offset.0.abs();
    let seconds = microseconds / i128::from(MICROSECONDS_A_SECOND);
    let mut text = format!("{sign}{:02}{separator}{:02}", seconds / 3600, seconds / 60 % 60);
    let fraction = microseconds % i128::from(MICROSECONDS_A_SECOND);
    if seconds % 60 != 0 || fraction != 0 {
        text.push_str(&format!("{separator}{:02}", seconds % 60));
    }
    if fraction != 0 {
        text.push_str(&format!(".{fraction:06}"));
    }
    text
}

/// A moment: what a clock on the wall shows, and in which zone the wall is.
#[derive(Debug, Clone)]
pub struct DateTime {
    /// Microseconds since the beginning of the year 1, in local time.
    local: i64,
    zone: Option<Zone>,
}

impl DateTime {
    pub fn new(fields: &Fields, zone: Option<Zone>) -> Result<Self> {
        Ok(Self {
            local: fields.microseconds_since_year_one()?,
            zone,
        })
    }

    /// So many microseconds since 1970, in a zone.
    pub fn from_unix(microseconds: i64, zone: Option<Zone>) -> Result<Self> {
        let offset = zone.as_ref().map_or_else(TimeSpan::default, Zone::unchecked_offset);
        let utc = Self {
            local: calendar::UNIX_EPOCH,
            zone,
        };
        utc.plus(TimeSpan(i128::from(microseconds)))?.plus(offset)
    }

    /// `datetime.fromtimestamp(seconds, zone)`
    pub fn from_timestamp(seconds: f64, zone: Zone) -> Result<Self> {
        let too_large = || PythonError::new("OverflowError", "timestamp out of range for platform time_t");
        if seconds.is_nan() {
            return Err(PythonError::value_error("Invalid value NaN (not a number)"));
        }
        if seconds.abs() >= i64::MAX as f64 {
            return Err(too_large());
        }
        let whole = seconds.floor();
        let microseconds = ((seconds - whole) * MICROSECONDS_A_SECOND as f64).round_ties_even();
        let days = (whole as i64).div_euclid(86_400);
        let year = calendar::year_of_unix_day(days);
        if i32::try_from(year).is_err() {
            return Err(PythonError::new(
                "OSError",
                "[Errno 75] Value too large for defined data type",
            ));
        }
        if !(1..=9999).contains(&year) {
            return Err(PythonError::value_error(format!("year {year} is out of range")));
        }
        Self::from_unix(whole as i64 * MICROSECONDS_A_SECOND + microseconds as i64, Some(zone))
    }

    pub fn fields(&self) -> Fields {
        Fields::from_microseconds_since_year_one(self.local)
    }

    /// Monday is 0.
    pub fn weekday(&self) -> i64 {
        self.local.div_euclid(MICROSECONDS_A_DAY).rem_euclid(7)
    }

    pub fn zone(&self) -> Option<&Zone> {
        self.zone.as_ref()
    }

    pub fn in_zone(self, zone: Zone) -> Self {
        Self {
            zone: Some(zone),
            ..self
        }
    }

    /// yaql takes a moment without a zone for one in UTC.
    pub fn or_utc(self) -> Self {
        Self {
            zone: self.zone.or(Some(Zone::Utc)),
            ..self
        }
    }

    pub fn offset(&self) -> Result<TimeSpan> {
        self.zone.as_ref().map_or(Ok(TimeSpan::default()), Zone::offset)
    }

    pub fn plus(&self, span: TimeSpan) -> Result<Self> {
        let local = i128::from(self.local) + span.0;
        if !(0..=i128::from(calendar::LAST_MICROSECOND)).contains(&local) {
            return Err(PythonError::new("OverflowError", "date value out of range"));
        }
        Ok(Self {
            local: i64::try_from(local).unwrap_or_default(),
            zone: self.zone.clone(),
        })
    }

    pub fn minus(&self, span: TimeSpan) -> Result<Self> {
        self.plus(TimeSpan(-span.0))
    }

    /// The time between two moments, both of which have a zone.
    pub fn since(&self, other: &Self) -> Result<TimeSpan> {
        if self.zone == other.zone {
            return Ok(TimeSpan(i128::from(self.local) - i128::from(other.local)));
        }
        let (offset, other_offset) = (self.offset()?, other.offset()?);
        Ok(TimeSpan(
            i128::from(self.local) - offset.0 - i128::from(other.local) + other_offset.0,
        ))
    }

    /// Seconds since 1970, as yaql computes them: the offset is taken off twice.
    pub fn timestamp(&self) -> Result<f64> {
        let utc = self.minus(self.offset()?)?;
        let microseconds = i128::from(utc.local) - utc.offset()?.0 - i128::from(calendar::UNIX_EPOCH);
        let (sign, magnitude) = (if microseconds < 0 { "-" } else { "" }, microseconds.abs());
        // Read from text, the result is rounded once.
        let text = format!("{sign}{}.{:06}", magnitude / 1_000_000, magnitude % 1_000_000);
        Ok(text.parse().unwrap_or(0.0))
    }

    pub fn start_of_day(&self) -> Self {
        Self {
            local: self.local - self.local.rem_euclid(MICROSECONDS_A_DAY),
            zone: self.zone.clone(),
        }
    }

    /// The order in time. Moments with and without a zone cannot be compared, and differ.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        if self.zone.is_some() != other.zone.is_some() {
            return None;
        }
        Some(self.instant().cmp(&other.instant()))
    }

    fn instant(&self) -> i128 {
        let offset = self.zone.as_ref().map_or(0, |zone| zone.unchecked_offset().0);
        i128::from(self.local) - offset
    }

    pub fn hash_as_instant(&self, hasher: &mut impl Hasher) {
        self.instant().hash(hasher);
    }

    pub fn format(&self, format: &str) -> String {
        to_format::format(self, format)
    }

    pub fn repr(&self) -> String {
        let fields = self.fields();
        let mut parts: Vec<String> = [fields.year, fields.month, fields.day, fields.hour, fields.minute]
            .iter()
            .map(ToString::to_string)
            .collect();
        if fields.second != 0 || fields.microsecond != 0 {
            parts.push(fields.second.to_string());
        }
        if fields.microsecond != 0 {
            parts.push(fields.microsecond.to_string());
        }
        if let Some(zone) = &self.zone {
            parts.push(format!("tzinfo={}", zone.repr()));
        }
        format!("datetime.datetime({})", parts.join(", "))
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields();
        write!(f, "{:04}-{:02}-{:02} ", fields.year, fields.month, fields.day)?;
        write!(f, "{:02}:{:02}:{:02}", fields.hour, fields.minute, fields.second)?;
        if fields.microsecond != 0 {
            write!(f, ".{:06}", fields.microsecond)?;
        }
        match &self.zone {
            Some(zone) => f.write_str(&offset_text(zone.unchecked_offset(), ":")),
            None => Ok(()),
        }
    }
}
