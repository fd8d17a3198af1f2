"""Runs the command line for `python -I -m meshlens`."""

from __future__ import annotations

import os
import sys

# `-m` puts the working directory first on the path, and so may PYTHONPATH; a project may have its own `json.py` there.
# This cannot prevent a `meshlens.py` there from being imported instead of this file: only `python -I -m meshlens` can.
sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry) and entry != os.path.abspath("")]

from meshlens.start import main  # noqa: E402  # after the line above

if __name__ == "__main__":
    main()
