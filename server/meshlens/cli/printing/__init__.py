"""The output of the command line: tables, source frames, progress, colors."""
