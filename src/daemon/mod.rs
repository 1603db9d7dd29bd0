//! Start and stop: timers, systemd, signals, logging, graceful drain.
