"""Features shown next to the code: hints, lenses, symbols, meshes, the call hierarchy."""
