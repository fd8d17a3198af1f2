"""Maps that are there, or are to be made: how they are applied and what they take."""
