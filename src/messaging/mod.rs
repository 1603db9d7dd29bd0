//! The only code that names lapin: transport URL, topology, envelope, RPC server and client, notifier.
