"""Solves a workspace: runs its roots and, after an edit, only the roots that the edit affects."""
