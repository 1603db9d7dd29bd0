//! Faults that operators of Heat have met, by the numbers under which they are known here; docs/compatibility.md answers
//! for those that need services or types which are not there. Where others stand:
//!
//! | | where |
//! |---|---|
//! | B01, B02 | `recovery::holders` |
//! | B04 | `recovery::ends` |
//! | B05 | `outages::broker::a_broker_that_goes_while_a_stack_starts`, `recovery::steps` |
//! | B10, B13, B16, B17, B19, B22, B23, B31 | `convergence::interrupted` |
//! | B40, B41 | `outages::database`, `recovery::steps`, `store::races` |
//! | B49 | `outages::broker` |
//! | B52, B56 | `messaging::topology` |
//! | B55 | `fairness`: a stack is named while the row of its resources has only begun |
//! | B59 | `identity::context`, in the library |
//! | B92, B94, B95, B97, B98, B104 | `template`: the probes of tests/conformance/language |
//! | B100, B101, B103 | tests/conformance/scenarios: `patches`, `refusals` |

mod broker;
mod cancelling;
mod database;
mod engines;
mod traversals;
mod trees;
