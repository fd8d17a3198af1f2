"""Writes new code: calls, maps, meshes, helper functions, and their places."""
