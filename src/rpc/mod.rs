//! The engine contract that heat-api calls: a file a family, one dispatch table.
