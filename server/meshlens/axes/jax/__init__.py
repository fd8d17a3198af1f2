"""The constructs of JAX and its libraries: maps, collectives, transformations, meshes, modules."""
