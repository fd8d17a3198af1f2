"""Existing and new maps: how they are applied and which arguments they take."""
