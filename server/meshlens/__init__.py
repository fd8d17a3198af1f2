"""MeshLens follows JAX axis names from the map that binds them to the collective that uses them."""

__version__ = "0.1.0"
