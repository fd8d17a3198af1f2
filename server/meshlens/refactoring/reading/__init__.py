"""Reads the code around a function: its references, its calls, its class."""
