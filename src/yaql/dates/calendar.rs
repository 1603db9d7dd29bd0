//! The Gregorian calendar, from the year 1 to the year 9999.

use super::{MICROSECONDS_A_DAY, MICROSECONDS_A_SECOND, Result};
use crate::python::PythonError;

/// What a calendar and a clock show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub microsecond: i64,
}

const UNIX_EPOCH_DAY: i64 = 719_162;
pub const UNIX_EPOCH: i64 = UNIX_EPOCH_DAY * MICROSECONDS_A_DAY;
/// The last moment of the year 9999.
pub const LAST_MICROSECOND: i64 = 3_652_059 * MICROSECONDS_A_DAY - 1;

pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days since the first of January of the year 1.
pub fn days_before_year(year: i64) -> i64 {
    let before = year - 1;
    before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400)
}

pub fn days_before_month(year: i64, month: i64) -> i64 {
    (1..month).map(|month| days_in_month(year, month)).sum()
}

/// The year of a day that is counted from the year 1.
fn year_of_day(day: i64) -> i64 {
    const DAYS_A_CYCLE: i64 = 146_097;
    let cycles = day.div_euclid(DAYS_A_CYCLE);
    let rest = day.rem_euclid(DAYS_A_CYCLE);
    // A year too late at most.
    let guess = rest / 365 + 1;
    let year = if days_before_year(guess) > rest {
        guess - 1
    } else {
        guess
    };
    cycles * 400 + year
}

pub fn year_of_unix_day(day: i64) -> i64 {
    year_of_day(day.saturating_add(UNIX_EPOCH_DAY))
}

impl Fields {
    pub fn date(year: i64, month: i64, day: i64) -> Self {
        Self {
            year,
            month,
            day,
            hour: 0,
            minute: 0,
            second: 0,
            microsecond: 0,
        }
    }

    /// Fails in Python's words for what is no date or time.
    pub fn microseconds_since_year_one(&self) -> Result<i64> {
        let refuse = |message: &str| Err(PythonError::value_error(message));
        let in_range = [
            ((0..24).contains(&self.hour), "hour must be in 0..23"),
            ((0..60).contains(&self.minute), "minute must be in 0..59"),
            ((0..60).contains(&self.second), "second must be in 0..59"),
            (
                (0..MICROSECONDS_A_SECOND).contains(&self.microsecond),
                "microsecond must be in 0..999999",
            ),
        ];
        if !(1..=9999).contains(&self.year) {
            return refuse(&format!("year {} is out of range", self.year));
        }
        if !(1..=12).contains(&self.month) {
            return refuse("month must be in 1..12");
        }
        if !(1..=days_in_month(self.year, self.month)).contains(&self.day) {
            return refuse("day is out of range for month");
        }
        if let Some((_, message)) = in_range.iter().find(|(is_fine, _)| !is_fine) {
            return refuse(message);
        }
        let days = days_before_year(self.year) + days_before_month(self.year, self.month) + self.day - 1;
        let seconds = (self.hour * 60 + self.minute) * 60 + self.second;
        Ok(days * MICROSECONDS_A_DAY + seconds * MICROSECONDS_A_SECOND + self.microsecond)
    }

    pub fn from_microseconds_since_year_one(microseconds: i64) -> Self {
        let day = microseconds.div_euclid(MICROSECONDS_A_DAY);
        let rest = microseconds.rem_euclid(MICROSECONDS_A_DAY);
        let seconds = rest / MICROSECONDS_A_SECOND;
        let year = year_of_day(day);
        let mut rest_of_year = day - days_before_year(year);
        let mut month = 1;
        while rest_of_year >= days_in_month(year, month) {
            rest_of_year -= days_in_month(year, month);
            month += 1;
        }
        Self {
            year,
            month,
            day: rest_of_year + 1,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            microsecond: rest % MICROSECONDS_A_SECOND,
        }
    }

    /// The first day of the year is 1.
    pub fn day_of_year(&self) -> i64 {
        days_before_month(self.year, self.month) + self.day
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_go_there_and_back() {
        for day in (0..3_652_059)
            .step_by(37)
            .chain([364, 365, 366, 146_096, 146_097, 3_652_058])
        {
            let fields = Fields::from_microseconds_since_year_one(day * MICROSECONDS_A_DAY);
            assert_eq!(fields.microseconds_since_year_one(), Ok(day * MICROSECONDS_A_DAY));
        }
        assert_eq!(year_of_unix_day(0), 1970);
        assert_eq!(year_of_unix_day(-719_163), 0);
    }
}
