"""Features shown beside the code: hints, lenses, symbols, meshes, the call hierarchy."""
