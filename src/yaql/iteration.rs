//! Iterating: lazily, once, and never without end.

use std::cell::RefCell;
use std::rc::Rc;

use super::engine::Engine;
use super::error::Error;
use super::value::{Items, Value, nesting_around};
use crate::python::size;

type Step = Box<dyn FnMut(&Engine) -> Result<Option<Value>, Error>>;

/// A Python iterator: whoever shares it shares its position.
#[derive(Clone)]
pub struct Iter(Rc<Running>);

struct Running {
    class: IteratorClass,
    nesting: u32,
    /// Gone when the iterator is at its end.
    step: RefCell<Option<Step>>,
}

/// What Python would call the iterator, and how large it would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IteratorClass {
    /// A generator function of this name.
    Generator(&'static str, usize),
    Builtin(&'static str, usize),
}

impl IteratorClass {
    pub const MAP: Self = Self::Builtin("map", 48);
    pub const FILTER: Self = Self::Builtin("filter", 48);
    pub const SLICE: Self = Self::Builtin("itertools.islice", 72);
    pub const CHAIN: Self = Self::Builtin("itertools.chain", 48);

    pub fn name(self) -> &'static str {
        match self {
            Self::Generator(..) => "generator",
            Self::Builtin(name, _) => name,
        }
    }

    pub fn size(self) -> usize {
        match self {
            Self::Generator(_, size) | Self::Builtin(_, size) => size,
        }
    }

    pub fn repr(self) -> String {
        match self {
            Self::Generator(function, _) => format!("<generator object {function}>"),
            Self::Builtin(name, _) => format!("<{name} object>"),
        }
    }
}

impl Iter {
    pub fn new(
        class: IteratorClass,
        nesting: u32,
        step: impl FnMut(&Engine) -> Result<Option<Value>, Error> + 'static,
    ) -> Self {
        Self(Rc::new(Running {
            class,
            nesting,
            step: RefCell::new(Some(Box::new(step))),
        }))
    }

    pub fn class(&self) -> IteratorClass {
        self.0.class
    }

    pub fn nesting(&self) -> u32 {
        self.0.nesting
    }

    pub fn identity(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    pub fn next(&self, engine: &Engine) -> Result<Option<Value>, Error> {
        let _depth = engine.enter_iterator()?;
        let Ok(mut slot) = self.0.step.try_borrow_mut() else {
            return Err(Error::value_error("generator already executing"));
        };
        let Some(step) = slot.as_mut() else {
            return Ok(None);
        };
        let result = step(engine);
        let is_over = match &result {
            Ok(item) => item.is_none(),
            Err(_) => matches!(self.0.class, IteratorClass::Generator(..)),
        };
        if is_over {
            *slot = None;
        }
        result
    }
}

/// A walk through a collection.
pub enum Walk {
    Items { items: Rc<Items>, next: usize },
    Owned(std::vec::IntoIter<Value>),
    Iterator(Iter),
    Memory { memory: Rc<Memory>, next: usize },
}

impl Walk {
    /// `iter(value)`
    pub fn through(value: &Value, engine: &Engine) -> Result<Self, Error> {
        Ok(match value {
            Value::Tuple(items) | Value::List(items) => Self::Items {
                items: items.clone(),
                next: 0,
            },
            Value::Iterator(iterator) => Self::Iterator(iterator.clone()),
            Value::Memory(memory) => Self::Memory {
                memory: memory.clone(),
                next: 0,
            },
            Value::Set(set) => Self::Owned(set.values().into_iter()),
            Value::View(view) => Self::Owned(view.values().into_iter()),
            Value::Dict(dict) => {
                let keys: Vec<Value> = dict.iter().map(|(key, _)| key.clone()).collect();
                Self::Owned(keys.into_iter())
            }
            Value::Text(text) => {
                let characters: Vec<Value> = text.chars().map(|c| Value::from(c.to_string())).collect();
                Self::Owned(characters.into_iter())
            }
            Value::Ordered(ordered) => Self::Items {
                items: ordered.sorted(engine)?,
                next: 0,
            },
            other => {
                return Err(Error::type_error(format!(
                    "'{}' object is not iterable",
                    other.class_name()
                )));
            }
        })
    }

    pub fn next(&mut self, engine: &Engine) -> Result<Option<Value>, Error> {
        match self {
            Self::Items { items, next } => {
                engine.spend(1)?;
                let item = items.get(*next).cloned();
                *next += 1;
                Ok(item)
            }
            Self::Owned(items) => {
                engine.spend(1)?;
                Ok(items.next())
            }
            Self::Iterator(iterator) => iterator.next(engine),
            Self::Memory { memory, next } => {
                let item = memory.get(*next, engine)?;
                *next += 1;
                Ok(item)
            }
        }
    }

    pub fn collect(mut self, engine: &Engine) -> Result<Vec<Value>, Error> {
        let mut items = Vec::new();
        while let Some(item) = self.next(engine)? {
            items.push(item);
        }
        Ok(items)
    }
}

/// An iterator together with what it has given so far: each walk starts anew.
pub struct Memory {
    source: Value,
    remembered: RefCell<Vec<Value>>,
}

impl Memory {
    pub fn of(source: Value) -> Self {
        Self {
            source,
            remembered: RefCell::default(),
        }
    }

    pub fn nesting(&self) -> u32 {
        self.source.nesting() + 1
    }

    fn get(&self, index: usize, engine: &Engine) -> Result<Option<Value>, Error> {
        engine.spend(1)?;
        if let Some(item) = self.remembered.borrow().get(index) {
            return Ok(Some(item.clone()));
        }
        let item = Walk::through(&self.source, engine)?.next(engine)?;
        if let Some(item) = &item {
            let mut remembered = self.remembered.borrow_mut();
            remembered.push(item.clone());
            let room = size::appended(remembered.len());
            engine.check_sizes([(1, size::list(room))])?;
        }
        Ok(item)
    }
}

/// The collection if it has a length within the limit, else an iterator that ends with an error at the limit.
pub fn limited(collection: Value, engine: &Engine) -> Result<Value, Error> {
    const CLASS: IteratorClass = IteratorClass::Generator("limit_iterable.<locals>.limiting_iterator", 224);
    let limit = engine.limits.iterators;
    let length = match &collection {
        Value::Tuple(items) | Value::List(items) => Some(items.len()),
        Value::Dict(dict) => Some(dict.len()),
        value if value.is_set() => Some(match value {
            Value::View(view) => view.dict.len(),
            Value::Set(set) => set.len(),
            _ => 0,
        }),
        _ => None,
    };
    let exceeds = move |count: usize| limit >= 0 && i64::try_from(count).is_ok_and(|count| count > limit);
    match length {
        Some(length) if exceeds(length) => Err(Error::CollectionTooLarge(limit)),
        Some(_) => Ok(collection),
        None => {
            let nesting = nesting_around([&collection]);
            let mut walk = None;
            let mut count = 0;
            let limiting = Iter::new(CLASS, nesting, move |engine| {
                let walk = match &mut walk {
                    Some(walk) => walk,
                    empty => empty.insert(Walk::through(&collection, engine)?),
                };
                let item = walk.next(engine)?;
                count += usize::from(item.is_some());
                if exceeds(count) {
                    return Err(Error::CollectionTooLarge(limit));
                }
                Ok(item)
            });
            Ok(Value::Iterator(limiting))
        }
    }
}
