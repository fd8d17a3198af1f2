"""Interpreter runs, each from one root: their frames, their records, and the results that they leave to other runs."""
