//! What every resource type shares: schema, properties, constraints, translation, attributes, state, the plugin contract.
