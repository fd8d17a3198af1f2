"""Data cached between runs: in the user's cache folder, sealed with the user's key, and never in a project."""
