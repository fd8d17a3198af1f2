"""Refactorings, one file each: the offer at a cursor, and the edits once it is chosen."""
