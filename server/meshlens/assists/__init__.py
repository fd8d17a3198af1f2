"""Refactorings, one file each: what is offered at a cursor, and the edits once it is chosen."""
