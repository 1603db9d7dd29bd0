//! The template language, pure: functions, conditions, parameters, environment, registry.
