//! Who asks: request context, credentials at rest, policy.
