"""Lowers the grammar's tree to the shapes of blocks."""
