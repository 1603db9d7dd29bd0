//! Contexts: the variables and functions that an expression sees. Each call gets one of its own, inside the one in which
//! it was written.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::call::Definition;
use super::value::Value;

/// The name of a variable without its dollar. `$` is `$1`.
pub type Name = Cow<'static, str>;

#[derive(Clone)]
pub struct Context(Rc<Frame>);

struct Frame {
    parent: Option<Context>,
    variables: RefCell<Vec<(Name, Value)>>,
    definitions: RefCell<Vec<Rc<Definition>>>,
    /// The nearest context outside that defines functions.
    defining: Option<Context>,
    nesting: Cell<u32>,
}

/// Names of positional arguments.
const POSITIONS: [&str; 5] = ["1", "2", "3", "4", "5"];

pub fn positional_name(index: usize) -> Name {
    POSITIONS
        .get(index)
        .map_or_else(|| Cow::Owned((index + 1).to_string()), |name| Cow::Borrowed(*name))
}

fn without_dollar(name: &str) -> &str {
    match name.strip_prefix('$').unwrap_or(name) {
        // Only the lone dollar has a number for its name.
        "" if name == "$" => "1",
        plain => plain,
    }
}

impl Context {
    pub fn root() -> Self {
        Self::inside(None)
    }

    pub fn child(&self) -> Self {
        Self::inside(Some(self.clone()))
    }

    fn inside(parent: Option<Context>) -> Self {
        let nesting = parent.as_ref().map_or(1, Context::nesting);
        let defining = parent.as_ref().and_then(|parent| {
            let defines = !parent.0.definitions.borrow().is_empty();
            if defines {
                Some(parent.clone())
            } else {
                parent.0.defining.clone()
            }
        });
        Self(Rc::new(Frame {
            parent,
            variables: RefCell::default(),
            definitions: RefCell::default(),
            defining,
            nesting: Cell::new(nesting),
        }))
    }

    pub fn set(&self, name: impl Into<Name>, value: Value) {
        let nesting = self.0.nesting.get().max(value.nesting() + 1);
        self.0.nesting.set(nesting);
        let mut name = name.into();
        if name.starts_with('$') {
            name = Cow::Owned(without_dollar(&name).to_owned());
        }
        let mut variables = self.0.variables.borrow_mut();
        match variables.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => variables.push((name, value)),
        }
    }

    /// The value of a variable; what nobody has set is null.
    pub fn get(&self, name: &str) -> Value {
        let name = without_dollar(name);
        let mut context = Some(self);
        while let Some(Context(frame)) = context {
            let variables = frame.variables.borrow();
            if let Some((_, value)) = variables.iter().find(|(known, _)| known == name) {
                return value.clone();
            }
            context = frame.parent.as_ref();
        }
        Value::Null
    }

    pub fn define(&self, definition: Definition) {
        self.0.definitions.borrow_mut().push(Rc::new(definition));
    }

    /// The definitions of a name, nearest context first.
    pub fn definitions(&self, name: &str) -> Vec<Vec<Rc<Definition>>> {
        let mut levels = Vec::new();
        let mut context = Some(self);
        while let Some(Context(frame)) = context {
            let definitions = frame.definitions.borrow();
            let level: Vec<_> = definitions.iter().filter(|known| known.name == name).cloned().collect();
            if !level.is_empty() {
                levels.push(level);
            }
            context = frame.defining.as_ref();
        }
        levels
    }

    /// Whether anything is defined in it or around it.
    pub fn has_definitions(&self) -> bool {
        self.0.defining.is_some() || !self.0.definitions.borrow().is_empty()
    }

    pub fn forget_definitions(&self) {
        self.0.definitions.borrow_mut().clear();
    }

    pub fn nesting(&self) -> u32 {
        self.0.nesting.get()
    }

    pub fn identity(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }
}

impl Drop for Frame {
    /// Lets go of the contexts outside one after the other: there may be very many.
    fn drop(&mut self) {
        self.defining = None;
        let mut parent = self.parent.take();
        while let Some(Context(frame)) = parent {
            parent = Rc::into_inner(frame).and_then(|mut frame| {
                frame.defining = None;
                frame.parent.take()
            });
        }
    }
}
