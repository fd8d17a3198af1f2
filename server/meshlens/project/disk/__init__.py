"""Files as they lie on the disk, and what is kept of them there."""
