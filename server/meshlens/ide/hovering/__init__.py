"""Hovers and their wording."""
