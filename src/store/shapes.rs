//! Statements about many rows come in few shapes, so that all of them can be kept prepared.
//!
//! A statement that is not kept costs more than its preparation: the driver closes it with a packet that the server does
//! not answer, and (sqlx 0.9.0 leaves Nagle's algorithm on) whatever is sent next waits 40 ms for that packet's
//! acknowledgement.

use super::value::SqlValue;

/// Beyond this a statement gets long for what it saves.
const LARGEST_GROUP: usize = 128;

/// A few rows are one statement, however many they are.
const SMALL_GROUP: usize = 8;

/// Longer lists are rare, and the protocol takes no more than 65,535 values.
const LONGEST_PADDED: usize = 4096;

/// Values for a list of a power of two of placeholders: filled up with the last one.
pub(super) fn padded<T: Clone + Into<SqlValue>>(values: &[T]) -> Vec<SqlValue> {
    let count = match values.len() {
        count @ (0 | LONGEST_PADDED..) => count,
        count => count.next_power_of_two(),
    };
    let padding = values.last().into_iter().cycle();
    let filled = values.iter().chain(padding).take(count);
    filled.map(|value| value.clone().into()).collect()
}

/// Rows in groups of few different sizes.
pub(super) fn groups<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let size = match rest.len() {
            0 => return None,
            few @ ..=SMALL_GROUP => few,
            many => 1 << many.ilog2(),
        };
        let (group, others) = rest.split_at(size.min(LARGEST_GROUP));
        rest = others;
        Some(group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_filled_up_with_their_last_value() {
        let length = |count: usize| padded(&vec![7_i64; count]).len();
        assert_eq!([0, 1, 2, 3, 4, 5, 8, 9].map(length), [0, 1, 2, 4, 4, 8, 8, 16]);
        assert_eq!([4095, 4096, 4097, 65_535].map(length), [4096, 4096, 4097, 65_535]);
        assert_eq!(padded(&[1_i64, 2, 3]), [1, 2, 3, 3].map(|id: i64| SqlValue::from(id)));
    }

    #[test]
    fn groups_hold_every_row_once_and_have_few_sizes() {
        for count in 0..400 {
            let rows: Vec<usize> = (0..count).collect();
            let grouped: Vec<&[usize]> = groups(&rows).collect();
            assert_eq!(grouped.concat(), rows);
            let is_of_a_known_size = |size: usize| size <= 8 || size.is_power_of_two() && size <= 128;
            assert!(grouped.iter().all(|group| is_of_a_known_size(group.len())));
        }
    }
}
