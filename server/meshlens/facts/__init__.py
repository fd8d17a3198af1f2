"""The facts of one file: its blocks as small trees without positions, and the comments that address MeshLens."""
