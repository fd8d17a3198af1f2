"""Facts about arrays: their shapes, and which operations keep a value the same on all devices."""
