"""Budgets for running code, and the effects of code that is not run."""
