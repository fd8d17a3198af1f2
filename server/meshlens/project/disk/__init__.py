"""Files on disk, and the caches that are kept there."""
