"""Reads again what an edit touches, and keeps the rest."""
