"""Python's grammar: the only package that knows tree-sitter, and one that knows no library."""
