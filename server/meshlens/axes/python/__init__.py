"""The constructs of Python: statements, expressions, calls and objects."""
