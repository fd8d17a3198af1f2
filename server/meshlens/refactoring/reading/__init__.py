"""Reads the code around a function: who mentions it, who calls it, what it belongs to."""
