"""Makes `python -I -m meshlens` the command line."""

from __future__ import annotations

import os
import sys

# `-m` puts the working folder first, where a project may have its own `json.py`; so may PYTHONPATH. This cannot prevent
# a `meshlens.py`, which would be imported instead of this file: only `python -I -m meshlens` does.
sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry) and entry != os.path.abspath("")]

from meshlens.cli.main import main  # noqa: E402  # after the line above

if __name__ == "__main__":
    main()
