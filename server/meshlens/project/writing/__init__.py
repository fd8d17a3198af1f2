"""Code as it is written, and what is going to be written into it."""
