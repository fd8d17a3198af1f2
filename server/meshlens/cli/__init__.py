"""The command line: translates options into calls of the core, and findings into text."""
