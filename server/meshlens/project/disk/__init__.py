"""Files on disk, and caches of them there."""
