"""Checking: the registry of rules, which of them run, what they find, and what of it is shown."""
