"""The commands that a client may have run."""

from __future__ import annotations

DEBUG = "meshlens.printDebugInformation"
COMMANDS = (DEBUG,)
