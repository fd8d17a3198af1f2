"""Open texts: files, notebooks and their cells."""
