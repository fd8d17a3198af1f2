"""The facts of one file: its blocks as small trees without positions, and comments for MeshLens."""
