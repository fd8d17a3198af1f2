"""Conversion between notebooks and Python files."""
