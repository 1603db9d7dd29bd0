//! Traversals, the worker that checks one resource, sync points, locks, cancelling.
