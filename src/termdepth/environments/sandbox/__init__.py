"""The embedded sandbox: containers from the Python standard library, without an engine."""
