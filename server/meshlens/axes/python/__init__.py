"""Python's constructs: statements, expressions, calls and objects."""
