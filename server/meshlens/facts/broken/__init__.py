"""Reads texts with syntax errors: what cannot be read leaves a hole, and nothing around it changes."""
