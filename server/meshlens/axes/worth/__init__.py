"""How much work code is worth, and what becomes of code that is not run."""
