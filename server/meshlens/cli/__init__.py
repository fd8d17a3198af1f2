"""The command line: translates options into calls to the core, and findings into text."""
