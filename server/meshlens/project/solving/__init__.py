"""Solves a workspace: runs its roots, and, after an edit, those that the edit affects."""
