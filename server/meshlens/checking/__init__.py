"""Checking: the registry of rules, the rules to run, their findings, and the comments that silence findings."""
