"""Hovers, and the words that they are made of."""
