"""Data kept between runs: in the user's cache folder, under a key of the user's, and never in a project."""
