//! `orderBy` and `thenBy`. The comparisons are calls of `<` and `>`, so what cannot be compared fails as it does there.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::yaql::call::{Argument, Call, Lambda, invoke};
use crate::yaql::context::Context;
use crate::yaql::engine::Engine;
use crate::yaql::error::Error;
use crate::yaql::iteration::Walk;
use crate::yaql::signature::{Function, Kind, Outcome, iterable, lambda, method, of};
use crate::yaql::value::{Items, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    method("orderBy", &[iterable("collection"), lambda("selector")], |call| {
        Ok(ordered(call, true))
    }),
    method(
        "orderByDescending",
        &[iterable("collection"), lambda("selector")],
        |call| Ok(ordered(call, false)),
    ),
    method(
        "thenBy",
        &[of(Kind::Ordered, "collection"), lambda("selector")],
        |call| then_by(call, true),
    ),
    method(
        "thenByDescending",
        &[of(Kind::Ordered, "collection"), lambda("selector")],
        |call| then_by(call, false),
    ),
];

/// A collection and the fields that it is to be sorted by. It is sorted once, when somebody looks.
pub struct Ordered {
    source: Value,
    /// Where the comparisons are called.
    context: Context,
    fields: RefCell<Vec<Field>>,
    sorted: RefCell<Option<Rc<Items>>>,
    nesting: Cell<u32>,
}

#[derive(Clone)]
struct Field {
    selector: Lambda,
    is_ascending: bool,
}

fn ordered(call: &Call<'_>, is_ascending: bool) -> Value {
    let selector = call.lambda(1);
    let ordered = Rc::new(Ordered {
        source: call.owned(0),
        context: call.context.clone(),
        fields: RefCell::new(vec![Field { selector, is_ascending }]),
        sorted: RefCell::default(),
        nesting: Cell::new(call.nesting()),
    });
    call.engine.forget_order_at_end(&ordered);
    Value::Ordered(ordered)
}

fn then_by(call: &Call<'_>, is_ascending: bool) -> Outcome {
    let selector = call.lambda(1);
    if let Value::Ordered(ordered) = call.value(0) {
        ordered.fields.borrow_mut().push(Field { selector, is_ascending });
        ordered
            .nesting
            .set(ordered.nesting.get().max(call.context.nesting() + 1));
    }
    Ok(call.owned(0))
}

impl Ordered {
    pub fn nesting(&self) -> u32 {
        self.nesting.get()
    }

    /// Lets go of the selectors, which may see the collection itself.
    pub fn forget(&self) {
        self.fields.borrow_mut().clear();
    }

    pub fn sorted(&self, engine: &Engine) -> Result<Rc<Items>, Error> {
        if let Some(sorted) = &*self.sorted.borrow() {
            return Ok(sorted.clone());
        }
        let items = Walk::through(&self.source, engine)?.collect(engine)?;
        let fields = self.fields.borrow().clone();
        let is_less = |left: &Value, right: &Value| self.is_less(engine, &fields, left, right);
        let sorted = Rc::new(Items::appended(sorted_by(items, is_less)?));
        *self.sorted.borrow_mut() = Some(sorted.clone());
        Ok(sorted)
    }

    fn is_less(&self, engine: &Engine, fields: &[Field], left: &Value, right: &Value) -> Result<bool, Error> {
        for field in fields {
            let select = |item: &Value| field.selector.call(engine, std::slice::from_ref(item));
            let (left, right) = (select(left)?, select(right)?);
            let compare = |operator: &str| {
                let arguments = [&left, &right].map(|value| Argument::Value(value.clone()));
                invoke(engine, &self.context, operator, arguments.to_vec())
            };
            if compare("#operator_<")?.is_true() {
                return Ok(field.is_ascending);
            }
            if compare("#operator_>")?.is_true() {
                return Ok(!field.is_ascending);
            }
        }
        Ok(false)
    }
}

/// Stable, and as Python sorts short lists: the first run is kept (or turned around), the rest put in one by one. So
/// what has no consistent order comes out in the same one.
fn sorted_by(
    mut items: Vec<Value>,
    is_less: impl Fn(&Value, &Value) -> Result<bool, Error>,
) -> Result<Vec<Value>, Error> {
    let mut run = items.len().min(1);
    if items.len() > 1 {
        let goes_down = is_less(&items[1], &items[0])?;
        run = 2;
        while run < items.len() && is_less(&items[run], &items[run - 1])? == goes_down {
            run += 1;
        }
        if goes_down {
            items[..run].reverse();
        }
    }
    for index in run..items.len() {
        let (mut low, mut high) = (0, index);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_less(&items[index], &items[middle])? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        items[low..=index].rotate_right(1);
    }
    Ok(items)
}
