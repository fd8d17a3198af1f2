"""A run from a root: its frames, its records, and what it leaves to other runs."""
