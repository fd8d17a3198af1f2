"""Checking: the registry of rules, which of them run, their findings, and which findings are shown."""
