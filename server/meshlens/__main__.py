"""`python -m meshlens` is the command line."""

from __future__ import annotations

import os
import sys

# `-m` puts the working folder first, where a project may have a `json.py` of its own.
sys.path[:] = [entry for number, entry in enumerate(sys.path) if number or entry not in ("", os.getcwd())]

from meshlens.cli.main import main  # noqa: E402  # behind the line above

if __name__ == "__main__":
    main()
