//! Values as far as they can be told without any resource.

use serde_json::{Map, Value};

use super::error::ResolveError;
use super::expression::{Call, Expression, Resolver};
use super::functions::Function;
use super::references::References;

impl Expression {
    /// The value with calls left in it that need a resource or a cloud, what is known in their arguments filled in.
    pub fn resolve_partly(&self, references: &dyn References) -> Result<Value, ResolveError> {
        Partly(Resolver::new(references)).value(self)
    }

    /// Whether the value can be told from the template and its parameters alone.
    pub fn needs_no_cloud(&self) -> bool {
        let mut needs_none = true;
        self.visit_calls(&mut |call| needs_none &= !asks_a_cloud(call));
        needs_none
    }

    /// Whether the cloud's availability zones are part of the value.
    pub fn needs_availability_zones(&self) -> bool {
        let mut are_needed = false;
        self.visit_calls(&mut |call| are_needed |= call.function == Function::GetAvailabilityZones);
        are_needed
    }
}

fn asks_a_cloud(call: &Call) -> bool {
    matches!(
        call.function,
        Function::GetResource
            | Function::GetAttribute(_)
            | Function::GetAvailabilityZones
            | Function::ResourceFacade { .. }
    )
}

struct Partly<'a>(Resolver<'a>);

impl Partly<'_> {
    fn value(&self, expression: &Expression) -> Result<Value, ResolveError> {
        match expression {
            Expression::Scalar(_) | Expression::Absent => self.0.resolve(expression),
            Expression::List(items) => {
                let present = items.iter().enumerate().filter(|(_, item)| !item.is_absent());
                present
                    .map(|(index, item)| self.value(item).map_err(|error| error.below(index.to_string())))
                    .collect::<Result<_, _>>()
                    .map(Value::Array)
            }
            Expression::Map(entries) => {
                let present = entries.iter().filter(|(_, value)| !value.is_absent());
                present
                    .map(|(key, value)| {
                        let value = self.value(value).map_err(|error| error.below(key.as_str()))?;
                        Ok((key.clone(), value))
                    })
                    .collect::<Result<Map<_, _>, _>>()
                    .map(Value::Object)
            }
            Expression::Call(call) => self.call(expression, call),
        }
    }

    fn call(&self, expression: &Expression, call: &Call) -> Result<Value, ResolveError> {
        if expression.needs_no_cloud() {
            return self.0.resolve(expression);
        }
        let arguments = self.value(&call.arguments);
        let arguments = arguments.map_err(|error| error.below(call.name.as_str()))?;
        if matches!(call.function, Function::If { .. }) {
            return Ok(arguments);
        }
        Ok(Value::Object(Map::from_iter([(call.name.clone(), arguments)])))
    }
}
