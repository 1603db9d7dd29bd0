//! `sys.getsizeof` of CPython 3.11: what a memory quota of Python's counts. Only the object itself is counted, not what
//! it refers to.

use num_bigint::BigInt;

pub const NONE: usize = 16;
pub const BOOL: usize = 28;
pub const FLOAT: usize = 24;
pub const EMPTY_DICT: usize = 64;
pub const EMPTY_LIST: usize = 56;
/// An instance of a class that keeps its attributes in a `__dict__`.
pub const INSTANCE: usize = 56;

const POINTER: usize = 8;

pub fn text(text: &str) -> usize {
    if text.is_ascii() {
        return 49 + text.len();
    }
    let widest = text.chars().max().map_or(0, u32::from);
    let length = text.chars().count();
    match widest {
        0..=0xff => 73 + length,
        0x100..=0xffff => 74 + 2 * length,
        _ => 76 + 4 * length,
    }
}

pub fn integer(integer: &BigInt) -> usize {
    const BITS_A_DIGIT: u64 = 30;
    let digits = integer.bits().div_ceil(BITS_A_DIGIT).max(1);
    24 + 4 * usize::try_from(digits).unwrap_or(usize::MAX / 8)
}

pub fn tuple(length: usize) -> usize {
    40 + POINTER * length
}

/// A list that has room for so many items.
pub fn list(allocated: usize) -> usize {
    EMPTY_LIST + POINTER * allocated
}

/// The room of a list to which items were appended one by one.
pub fn appended(length: usize) -> usize {
    grown(0, length)
}

/// The room of a list that was made from an iterator of unknown length.
pub fn collected(length: usize) -> usize {
    const FIRST_GUESS: usize = 8;
    match length {
        0 => 0,
        // Python takes back most of a first guess that was much too high.
        1..=3 => (length + 6) & !3,
        _ => grown(FIRST_GUESS, length),
    }
}

/// The room that appending up to a length leaves, from some room at the beginning.
pub fn grown(mut allocated: usize, length: usize) -> usize {
    while allocated < length {
        let needed = allocated + 1;
        allocated = (needed + (needed >> 3) + 6) & !3;
    }
    allocated
}

/// A dict that was filled item by item.
pub fn dict(length: usize, has_only_text_keys: bool) -> usize {
    if length == 0 {
        return EMPTY_DICT;
    }
    let entry = if has_only_text_keys { 16 } else { 24 };
    let mut capacity: usize = 8;
    while usable(capacity) < length {
        capacity *= 2;
    }
    let index_width = match capacity {
        0..=0x80 => 1,
        0x81..=0x8000 => 2,
        _ => 4,
    };
    EMPTY_DICT + 32 + capacity * index_width + usable(capacity) * entry
}

fn usable(capacity: usize) -> usize {
    capacity * 2 / 3
}

/// A set whose table has so many slots; the smallest table is part of the object.
pub fn set(capacity: usize) -> usize {
    const SMALLEST: usize = 8;
    const SLOT: usize = 16;
    216 + if capacity > SMALLEST { SLOT * capacity } else { 0 }
}

/// A `collections.deque`.
pub fn deque(length: usize) -> usize {
    const BLOCK: usize = 64;
    760 + (length + BLOCK / 2 - 1) / BLOCK * (8 * BLOCK + 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_cpython() {
        assert_eq!(["", "ab", "é", "éé", "€€", "😀😀"].map(text), [49, 51, 74, 75, 78, 84]);
        assert_eq!(
            [0_i64, 1, -1, (1 << 30) - 1, 1 << 30, 1 << 60].map(|number| integer(&BigInt::from(number))),
            [28, 28, 28, 28, 32, 36]
        );
        assert_eq!(
            [1, 5, 6, 21, 22, 341].map(|length| dict(length, false)),
            [224, 224, 352, 632, 1168, 9304]
        );
        assert_eq!(
            [1, 6, 11, 22, 86, 171, 342].map(|length| dict(length, true)),
            [184, 272, 464, 832, 3328, 6576, 13056]
        );
        assert_eq!([1, 5, 9, 201].map(appended), [4, 8, 16, 232]);
        assert_eq!([0, 1, 3, 9, 41].map(collected), [0, 4, 8, 16, 52]);
        assert_eq!(set(8), 216);
        assert_eq!(set(32), 728);
    }
}
