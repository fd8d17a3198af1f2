"""Python's grammar: the only package that uses tree-sitter; it knows nothing about libraries."""
