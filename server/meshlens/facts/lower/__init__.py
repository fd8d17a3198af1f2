"""Lowers the tree of the grammar to the shapes of blocks."""
