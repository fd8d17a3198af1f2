"""`python -I -m meshlens` is the command line."""

from __future__ import annotations

import os
import sys

# `-m` puts the working folder first, where a project may have a `json.py` of its own; so may PYTHONPATH.  This cannot
# keep out a `meshlens.py`, which was imported instead of this file: only `python -I -m meshlens` does.
sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry) and entry != os.path.abspath("")]

from meshlens.cli.main import main  # noqa: E402  # behind the line above

if __name__ == "__main__":
    main()
