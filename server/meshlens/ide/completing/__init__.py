"""Completion and signature help, also in code that is not finished."""
