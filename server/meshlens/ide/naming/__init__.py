"""The names of axes: definition, references, rename, and obstacles to a rename."""
