"""Shared by all refactorings: the data model, the registry, and the code that applies an assist everywhere."""
