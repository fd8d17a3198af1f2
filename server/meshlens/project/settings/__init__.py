"""A project's own settings: its configuration, its JAX version, its devices."""
