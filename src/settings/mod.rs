//! heat.conf as oslo.config reads it, into typed settings.
