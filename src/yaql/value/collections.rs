//! Sequences, dicts, sets and the views of dicts.

use std::rc::Rc;

use indexmap::IndexMap;

use super::{Key, Value, nesting_around};
use crate::python::hash::SetTable;
use crate::python::size;
use crate::yaql::error::Error;

/// The items of a tuple or a list.
pub struct Items {
    pub(super) items: Vec<Value>,
    pub(super) nesting: u32,
    /// How many items a Python list of the same history would have room for.
    pub(super) allocated: usize,
}

impl Items {
    pub fn exactly(items: Vec<Value>) -> Self {
        let allocated = items.len();
        Self::with_room(items, allocated)
    }

    pub fn appended(items: Vec<Value>) -> Self {
        let allocated = size::appended(items.len());
        Self::with_room(items, allocated)
    }

    pub fn with_room(items: Vec<Value>, allocated: usize) -> Self {
        Self {
            nesting: nesting_around(&items),
            items,
            allocated,
        }
    }
}

impl std::ops::Deref for Items {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

/// A dict, or yaql's frozen one.
#[derive(Clone)]
pub struct Dict {
    entries: IndexMap<Key, Value>,
    pub is_frozen: bool,
    pub(super) nesting: u32,
    pub(super) has_only_text_keys: bool,
}

impl Dict {
    pub fn new(is_frozen: bool) -> Self {
        Self {
            entries: IndexMap::new(),
            is_frozen,
            nesting: 1,
            has_only_text_keys: true,
        }
    }

    pub fn frozen(pairs: impl IntoIterator<Item = (Value, Value)>) -> Result<Self, Error> {
        let mut dict = Self::new(true);
        for (key, value) in pairs {
            dict.insert(key, value)?;
        }
        Ok(dict)
    }

    pub fn insert(&mut self, key: Value, value: Value) -> Result<(), Error> {
        self.insert_key(Key::new(key)?, value);
        Ok(())
    }

    pub fn insert_key(&mut self, key: Key, value: Value) {
        self.nesting = self.nesting.max(nesting_around([key.value(), &value]));
        self.has_only_text_keys &= matches!(key.value(), Value::Text(_));
        self.entries.insert(key, value);
    }

    /// Fails where the key cannot be one.
    pub fn get(&self, key: &Value) -> Result<Option<&Value>, Error> {
        Ok(self.entries.get(&Key::new(key.clone())?))
    }

    pub fn remove(&mut self, key: &Value) -> Result<(), Error> {
        self.entries.shift_remove(&Key::new(key.clone())?);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (key.value(), value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.entries.keys()
    }
}

/// A set. Numbers come in Python's order, which is the same everywhere; texts, whose order changes there from process
/// to process, as they were put in.
#[derive(Clone)]
pub struct Set {
    table: SetTable<Key>,
    has_order: bool,
    pub is_frozen: bool,
    pub(super) nesting: u32,
}

impl Default for Set {
    fn default() -> Self {
        Self {
            table: SetTable::default(),
            has_order: true,
            is_frozen: true,
            nesting: 1,
        }
    }
}

impl Set {
    /// Python's own kind, which can be no key.
    pub fn mutable() -> Self {
        Self {
            is_frozen: false,
            ..Self::default()
        }
    }

    pub fn insert(&mut self, value: Value) -> Result<(), Error> {
        self.insert_key(Key::new(value)?);
        Ok(())
    }

    fn insert_key(&mut self, key: Key) {
        self.has_order &= key.has_known_hash();
        self.nesting = self.nesting.max(nesting_around([key.value()]));
        self.table.insert(key.hash(), key);
    }

    pub fn len(&self) -> usize {
        self.table.len()
    }

    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    pub fn capacity(&self) -> usize {
        self.table.capacity()
    }

    pub fn contains(&self, key: &Key) -> bool {
        self.table.contains(key.hash(), key)
    }

    pub fn keys(&self) -> Vec<&Key> {
        if self.has_order {
            self.table.items().collect()
        } else {
            self.table.items_by_age()
        }
    }

    pub fn values(&self) -> Vec<Value> {
        self.keys().into_iter().map(|key| key.value().clone()).collect()
    }

    pub fn is_subset(&self, other: &Set) -> bool {
        self.len() <= other.len() && self.table.items().all(|key| other.contains(key))
    }

    fn copy(&self) -> Set {
        Set {
            table: SetTable::copy_of(&self.table),
            is_frozen: true,
            ..*self
        }
    }

    fn of<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Set {
        let mut set = Set::default();
        for key in keys {
            set.insert_key(key.clone());
        }
        set
    }

    pub fn union(&self, other: &Set) -> Set {
        if self.is_empty() {
            return other.copy();
        }
        let mut union = self.copy();
        union.table.make_room_for(other.len());
        for key in other.keys() {
            union.insert_key(key.clone());
        }
        union
    }

    /// If little is to be taken away, Python takes it out of a copy.
    pub fn difference(&self, other: &Set) -> Set {
        if self.len() / 4 > other.len() {
            let mut difference = self.copy();
            for key in other.keys() {
                difference.table.remove(key.hash(), key);
            }
            return difference;
        }
        Set::of(self.keys().into_iter().filter(|key| !other.contains(key)))
    }

    /// Python walks through the smaller set.
    pub fn intersection(&self, other: &Set) -> Set {
        let (walked, asked) = if other.len() > self.len() {
            (self, other)
        } else {
            (other, self)
        };
        Set::of(walked.keys().into_iter().filter(|key| asked.contains(key)))
    }

    pub fn symmetric_difference(&self, other: &Set) -> Set {
        let mut difference = other.copy();
        for key in self.keys() {
            if other.contains(key) {
                difference.table.remove(key.hash(), key);
            } else {
                difference.insert_key(key.clone());
            }
        }
        difference
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewKind {
    Keys,
    Values,
    Items,
}

/// What `keys()`, `values()` and `items()` of a dict give.
pub struct View {
    pub dict: Rc<Dict>,
    pub kind: ViewKind,
}

impl View {
    pub fn class_name(&self) -> &'static str {
        match (self.kind, self.dict.is_frozen) {
            (ViewKind::Keys, true) => "KeysView",
            (ViewKind::Values, true) => "ValuesView",
            (ViewKind::Items, true) => "ItemsView",
            (ViewKind::Keys, false) => "dict_keys",
            (ViewKind::Values, false) => "dict_values",
            (ViewKind::Items, false) => "dict_items",
        }
    }

    pub fn values(&self) -> Vec<Value> {
        self.dict
            .iter()
            .map(|(key, value)| match self.kind {
                ViewKind::Keys => key.clone(),
                ViewKind::Values => value.clone(),
                ViewKind::Items => Value::tuple(vec![key.clone(), value.clone()]),
            })
            .collect()
    }
}
