"""Completion and signature help, including for unfinished code."""
