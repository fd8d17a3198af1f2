"""Follows how values depend on the rows of a batch, and how jit would trace them."""
