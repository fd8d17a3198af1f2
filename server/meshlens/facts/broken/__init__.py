"""Reads source with syntax errors: unreadable code becomes a hole, and nothing around it changes."""
