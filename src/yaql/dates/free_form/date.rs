//! Which of the numbers of a date is the year, the month, the day.

use super::tokens::{Decimal, integer};
use super::{NoDate, Read};
use crate::python::numeral::is_decimal_digit;
use crate::yaql::dates::calendar::days_in_month;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Year,
    Month,
    Day,
}

/// The numbers of a date in the order in which they came, as far as it is known which is which.
#[derive(Default)]
pub struct Date {
    pub numbers: Vec<i64>,
    labels: Vec<Option<Label>>,
    pub has_century: bool,
}

impl Date {
    fn place_of(&self, label: Label) -> Option<usize> {
        self.labels.iter().position(|known| *known == Some(label))
    }

    pub fn push(&mut self, number: i64, label: Option<Label>) -> Read<()> {
        if label.is_some_and(|label| self.place_of(label).is_some()) {
            return Err(NoDate);
        }
        self.numbers.push(number);
        self.labels.push(label);
        Ok(())
    }

    /// More than two digits are a year.
    pub fn push_token(&mut self, token: &str, label: Option<Label>) -> Read<()> {
        let is_year = token.chars().all(is_decimal_digit) && token.chars().count() > 2;
        self.has_century |= is_year;
        let number = integer(token)?;
        match (is_year, label) {
            (true, None | Some(Label::Year)) => self.push(number, Some(Label::Year)),
            (true, Some(_)) => Err(NoDate),
            (false, label) => self.push(number, label),
        }
    }

    pub fn push_number(&mut self, number: Decimal) -> Read<()> {
        let is_year = number.whole > 100 || (number.whole == 100 && number.fraction > 0);
        self.has_century |= is_year;
        self.push(number.whole, is_year.then_some(Label::Year))
    }

    pub fn could_be_day(&self, number: Decimal) -> bool {
        let value = |label| self.place_of(label).map(|place| self.numbers[place]);
        let last = match (value(Label::Day), value(Label::Month), value(Label::Year)) {
            (Some(_), ..) => return false,
            (None, None, _) => 31,
            // Any year may be a leap year.
            (None, Some(month), year) => days_in_month(year.unwrap_or(2000), month),
        };
        number.whole >= 1 && (number.whole < last || (number.whole == last && number.fraction == 0))
    }

    /// Year, month and day.
    pub fn resolved(&self) -> Read<(Option<i64>, Option<i64>, Option<i64>)> {
        let known = self.labels.iter().flatten().count();
        let month_place = self.place_of(Label::Month);
        if (known == self.numbers.len() && known > 0) || (self.numbers.len() == 3 && known == 2) {
            return Ok(self.by_labels());
        }
        let order: &[Label] = match (self.numbers.as_slice(), month_place) {
            ([only], None) => &[if *only > 31 { Label::Year } else { Label::Day }],
            ([_, other], Some(0)) => &[Label::Month, if *other > 31 { Label::Year } else { Label::Day }],
            ([other, _], Some(_)) => &[if *other > 31 { Label::Year } else { Label::Day }, Label::Month],
            ([first, _], None) if *first > 31 => &[Label::Year, Label::Month],
            ([_, second], None) if *second > 31 => &[Label::Month, Label::Year],
            ([_, _], None) => &[Label::Month, Label::Day],
            ([_, second, _], Some(0)) if *second > 31 => &[Label::Month, Label::Year, Label::Day],
            ([_, _, _], Some(0)) => &[Label::Month, Label::Day, Label::Year],
            ([first, _, _], Some(1)) if *first > 31 => &[Label::Year, Label::Month, Label::Day],
            ([_, _, _], Some(1)) => &[Label::Day, Label::Month, Label::Year],
            ([_, second, _], Some(_)) if *second > 31 => &[Label::Day, Label::Year, Label::Month],
            ([_, _, _], Some(_)) => &[Label::Year, Label::Day, Label::Month],
            ([first, _, _], None) if *first > 31 || self.place_of(Label::Year) == Some(0) => {
                &[Label::Year, Label::Month, Label::Day]
            }
            ([first, _, _], None) if *first > 12 => &[Label::Day, Label::Month, Label::Year],
            ([_, _, _], None) => &[Label::Month, Label::Day, Label::Year],
            ([], _) | ([_], Some(_)) => &[],
            _ => return Err(NoDate),
        };
        let value = |label| {
            order
                .iter()
                .position(|known| *known == label)
                .map(|place| self.numbers[place])
        };
        Ok((value(Label::Year), value(Label::Month), value(Label::Day)))
    }

    fn by_labels(&self) -> (Option<i64>, Option<i64>, Option<i64>) {
        let unlabelled = self.labels.iter().position(Option::is_none);
        let value = |label| {
            let place = self.place_of(label).or(unlabelled);
            place.and_then(|place| self.numbers.get(place).copied())
        };
        (value(Label::Year), value(Label::Month), value(Label::Day))
    }
}
