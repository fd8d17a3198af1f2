"""Where an axis is named: definition, references, rename, and what stands in their way."""
