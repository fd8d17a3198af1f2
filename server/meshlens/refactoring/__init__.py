"""Parts that refactorings share: the nouns, the registry, and how one is applied everywhere."""
