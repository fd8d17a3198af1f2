"""Rereads the code that an edit touches, and keeps the rest."""
