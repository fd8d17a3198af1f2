"""Follows how values depend on the rows of a batch, and what a jit would trace."""
