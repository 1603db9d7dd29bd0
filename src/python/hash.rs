//! `hash()` where Python's own is the same in every process (numbers, and tuples and sets of them), and the table from
//! which the order of such a set follows. Texts are hashed with a secret of the process: their order is anybody's.

use num_bigint::{BigInt, Sign};

use super::number::PyNumber;

/// Numbers are hashed modulo this prime, so that equal numbers of different kinds have one hash.
const MODULUS: u64 = (1 << 61) - 1;

pub fn number_hash(number: &PyNumber) -> i64 {
    let hash = match number {
        PyNumber::Int(integer) => integer_hash(integer),
        PyNumber::Float(float) => float_hash(*float),
    };
    if hash == -1 { -2 } else { hash }
}

fn integer_hash(integer: &BigInt) -> i64 {
    let magnitude = integer.magnitude().iter_u64_digits().rev().fold(0_u128, |rest, digit| {
        ((rest << 64) | u128::from(digit)) % u128::from(MODULUS)
    });
    let magnitude = i64::try_from(magnitude).unwrap_or_default();
    if integer.sign() == Sign::Minus {
        -magnitude
    } else {
        magnitude
    }
}

fn float_hash(float: f64) -> i64 {
    if float.is_nan() {
        return 0;
    }
    if float.is_infinite() {
        return if float > 0.0 { 314_159 } else { -314_159 };
    }
    let bits = float.abs().to_bits();
    let (mantissa, exponent) = match bits >> 52 {
        0 => (bits, -1074),
        exponent => (
            (bits & ((1 << 52) - 1)) | (1 << 52),
            i64::try_from(exponent).unwrap_or_default() - 1075,
        ),
    };
    // 2 to the 61st is 1 modulo the prime: multiplying by a power of two turns the 61 bits around.
    let turn = u32::try_from(exponent.rem_euclid(61)).unwrap_or_default();
    let turned = ((u128::from(mantissa) << turn) % u128::from(MODULUS)) as i64;
    if float < 0.0 { -turned } else { turned }
}

pub fn tuple_hash(items: impl ExactSizeIterator<Item = i64>) -> i64 {
    const PRIME_1: u64 = 11_400_714_785_074_694_791;
    const PRIME_2: u64 = 14_029_467_366_897_019_727;
    const PRIME_5: u64 = 2_870_177_450_012_600_261;
    let length = items.len() as u64;
    let mut hash = PRIME_5;
    for item in items {
        hash = hash.wrapping_add((item as u64).wrapping_mul(PRIME_2));
        hash = hash.rotate_left(31).wrapping_mul(PRIME_1);
    }
    hash = hash.wrapping_add(length ^ (PRIME_5 ^ 3_527_539));
    if hash == u64::MAX { 1_546_275_796 } else { hash as i64 }
}

pub fn frozenset_hash(items: impl ExactSizeIterator<Item = i64>) -> i64 {
    let length = items.len() as u64;
    let mut hash = items.fold(0_u64, |hash, item| {
        let item = item as u64;
        hash ^ ((item ^ 89_869_747) ^ (item << 16)).wrapping_mul(3_644_798_167)
    });
    hash ^= length.wrapping_add(1).wrapping_mul(1_927_868_237);
    hash ^= (hash >> 11) ^ (hash >> 25);
    hash = hash.wrapping_mul(69_069).wrapping_add(907_133_923);
    if hash == u64::MAX { 590_923_713 } else { hash as i64 }
}

/// The open-addressed table of a Python set, from which the order of its items follows.
#[derive(Debug, Clone)]
pub struct SetTable<T> {
    slots: Vec<Slot<T>>,
    filled: usize,
    used: usize,
    inserted: usize,
}

#[derive(Debug, Clone)]
enum Slot<T> {
    Empty,
    Removed,
    Item(Entry<T>),
}

#[derive(Debug, Clone)]
struct Entry<T> {
    hash: i64,
    item: T,
    /// The how-manieth it was to come in.
    age: usize,
}

const SMALLEST: usize = 8;
const NEIGHBOURS: usize = 9;

impl<T> Default for SetTable<T> {
    fn default() -> Self {
        Self {
            slots: Self::empty(SMALLEST),
            filled: 0,
            used: 0,
            inserted: 0,
        }
    }
}

impl<T> SetTable<T> {
    fn empty(capacity: usize) -> Vec<Slot<T>> {
        std::iter::repeat_with(|| Slot::Empty).take(capacity).collect()
    }

    pub fn len(&self) -> usize {
        self.used
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// How many slots there are.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    fn entries(&self) -> impl Iterator<Item = &Entry<T>> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Item(entry) => Some(entry),
            _ => None,
        })
    }

    /// The items as Python iterates over them.
    pub fn items(&self) -> impl Iterator<Item = &T> {
        self.entries().map(|entry| &entry.item)
    }

    /// The items as they came in.
    pub fn items_by_age(&self) -> Vec<&T> {
        let mut entries: Vec<&Entry<T>> = self.entries().collect();
        entries.sort_by_key(|entry| entry.age);
        entries.into_iter().map(|entry| &entry.item).collect()
    }

    /// The slots in which an item of this hash may be, as far as there is always an empty one to end at.
    fn probe(&self, hash: i64) -> impl Iterator<Item = usize> {
        let mask = self.slots.len() - 1;
        let mut rest = hash as usize;
        let mut index = rest & mask;
        let starts = std::iter::from_fn(move || {
            let start = index;
            rest >>= 5;
            index = index.wrapping_mul(5).wrapping_add(1).wrapping_add(rest) & mask;
            Some(start)
        });
        starts.flat_map(move |start| {
            let has_neighbours = start + NEIGHBOURS <= mask;
            start..=start + if has_neighbours { NEIGHBOURS } else { 0 }
        })
    }

    fn place(&mut self, entry: Entry<T>) {
        let free = self
            .probe(entry.hash)
            .find(|index| matches!(self.slots[*index], Slot::Empty));
        if let Some(free) = free {
            self.slots[free] = Slot::Item(entry);
        }
    }

    fn resize(&mut self, wanted: usize) {
        let mut capacity = SMALLEST;
        while capacity <= wanted {
            capacity *= 2;
        }
        let slots = std::mem::replace(&mut self.slots, Self::empty(capacity));
        self.filled = self.used;
        for slot in slots {
            if let Slot::Item(entry) = slot {
                self.place(entry);
            }
        }
    }

    fn is_crowded_by(&self, newcomers: usize) -> bool {
        (self.filled + newcomers) * 5 >= (self.slots.len() - 1) * 3
    }

    /// What Python does before the items of another set are taken in.
    pub fn make_room_for(&mut self, newcomers: usize) {
        if self.is_crowded_by(newcomers) {
            self.resize((self.used + newcomers) * 2);
        }
    }
}

impl<T: PartialEq + Clone> SetTable<T> {
    fn find(&self, hash: i64, item: &T) -> Option<usize> {
        for index in self.probe(hash) {
            match &self.slots[index] {
                Slot::Empty => return None,
                Slot::Item(entry) if entry.hash == hash && entry.item == *item => return Some(index),
                _ => {}
            }
        }
        None
    }

    pub fn contains(&self, hash: i64, item: &T) -> bool {
        self.find(hash, item).is_some()
    }

    pub fn insert(&mut self, hash: i64, item: T) {
        if self.contains(hash, &item) {
            return;
        }
        let age = self.inserted;
        self.place(Entry { hash, item, age });
        self.inserted += 1;
        self.filled += 1;
        self.used += 1;
        if self.is_crowded_by(0) {
            let wanted = if self.used > 50_000 {
                self.used * 2
            } else {
                self.used * 4
            };
            self.resize(wanted);
        }
    }

    pub fn remove(&mut self, hash: i64, item: &T) {
        if let Some(index) = self.find(hash, item) {
            self.slots[index] = Slot::Removed;
            self.used -= 1;
        }
    }

    /// A new table with everything of another, as `set(other)` builds it.
    pub fn copy_of(other: &Self) -> Self {
        let mut table = Self::default();
        table.make_room_for(other.used);
        if table.slots.len() == other.slots.len() && other.filled == other.used {
            return other.clone();
        }
        for entry in other.entries() {
            table.place(entry.clone());
        }
        table.filled = other.used;
        table.used = other.used;
        table.inserted = other.inserted;
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(text: &str) -> i64 {
        number_hash(&PyNumber::from_json(&text.parse().unwrap()))
    }

    #[test]
    fn hashes_are_pythons() {
        for (number, expected) in [
            ("1", 1),
            ("-1", -2),
            ("1.0", 1),
            ("0.5", 1_152_921_504_606_846_976),
            ("-2.75", -1_729_382_256_910_270_466),
            ("1e300", 1_224_995_262_755_759_164),
            ("2305843009213693951", 0),
            ("123456789012345678901234567890", 248_789_772_095_949_448),
        ] {
            assert_eq!(hash_of(number), expected, "{number}");
        }
        assert_eq!(tuple_hash([1, 2].into_iter()), -3_550_055_125_485_641_917);
        assert_eq!(frozenset_hash([1, 2].into_iter()), -1_826_646_154_956_904_602);
    }

    #[test]
    fn order_is_pythons() {
        let mut table = SetTable::default();
        for number in [100, 7, 33, 9, 1, 12] {
            table.insert(number, number);
        }
        assert_eq!(table.items().copied().collect::<Vec<_>>(), [33, 1, 100, 7, 9, 12]);
        table.remove(100, &100);
        assert_eq!(SetTable::copy_of(&table).items_by_age(), [&7, &33, &9, &1, &12]);
    }
}
