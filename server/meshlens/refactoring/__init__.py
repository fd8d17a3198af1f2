"""Code that refactorings share: the data model, the registry, and applying an assist everywhere."""
