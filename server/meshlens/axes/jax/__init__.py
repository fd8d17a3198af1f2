"""JAX and its libraries: maps, collectives, transformations, meshes, modules."""
