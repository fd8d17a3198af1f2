"""`python -m meshlens` is the command line."""

from __future__ import annotations

from meshlens.cli.main import main

if __name__ == "__main__":
    main()
