"""Writes new code: calls, maps, meshes, helpers and where they stand."""
