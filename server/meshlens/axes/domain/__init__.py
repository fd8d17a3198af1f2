"""The values that the interpreter follows, and what is known about them."""
