"""Refactorings, one per file: each checks whether it applies at the cursor, and makes the edits once it is chosen."""
