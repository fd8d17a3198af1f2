"""Code as written in files, and edits to be made in them."""
