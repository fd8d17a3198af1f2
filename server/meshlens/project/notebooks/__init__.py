"""Notebooks as Python files, and back."""
