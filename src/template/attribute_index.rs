//! Which attributes of which resources a template asks for.
//!
//! Each node of a traversal needs to know what the others want of its resource. Looking through the whole template for
//! every node would cost the square of its size, so what can be told from the template alone is told once; only
//! questions that are themselves computed are asked again each time.

use indexmap::{IndexMap, IndexSet};

use super::expression::{AttributePath, Expression};
use super::references::{NothingKnown, References};

#[derive(Debug, Clone, Default)]
pub(super) struct AttributeIndex {
    fixed: IndexMap<String, IndexSet<AttributePath>>,
    computed: Vec<Expression>,
}

impl AttributeIndex {
    pub fn of<'a>(expressions: impl Iterator<Item = &'a Expression>) -> Self {
        let mut index = Self::default();
        for expression in expressions {
            expression.visit_calls(&mut |call| {
                if !call.asks_for_attribute() {
                    return;
                }
                let question = Expression::Call(Box::new(call.clone()));
                if call.has_constant_arguments() {
                    index.add_fixed(&question);
                } else {
                    index.computed.push(question);
                }
            });
        }
        index
    }

    fn add_fixed(&mut self, question: &Expression) {
        for (resource, attribute) in question.attributes(&NothingKnown::default()) {
            self.fixed.entry(resource).or_default().insert(attribute);
        }
    }

    /// Whether some questions cannot be told from the template alone.
    pub fn is_computed(&self) -> bool {
        !self.computed.is_empty()
    }

    pub fn needs_availability_zones(&self) -> bool {
        self.computed.iter().any(Expression::needs_availability_zones)
    }

    pub fn asked_of(&self, resource: &str, references: &dyn References) -> IndexSet<AttributePath> {
        let mut asked = self.fixed.get(resource).cloned().unwrap_or_default();
        let computed = self
            .computed
            .iter()
            .flat_map(|question| question.attributes(references));
        asked.extend(
            computed
                .filter(|(name, _)| name == resource)
                .map(|(_, attribute)| attribute),
        );
        asked
    }
}
