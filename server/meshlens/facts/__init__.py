"""What one file says: its blocks as small trees without positions, and the comments that speak to MeshLens."""
