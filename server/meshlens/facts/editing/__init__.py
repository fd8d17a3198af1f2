"""Reads the code that an edit touches again, and keeps the rest."""
