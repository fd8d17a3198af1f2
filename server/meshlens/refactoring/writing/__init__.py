"""Writes new code, such as calls, maps, meshes and helper functions, and finds places for it."""
