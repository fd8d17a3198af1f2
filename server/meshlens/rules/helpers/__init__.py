"""Code that several rules share, and parts of long rules."""
