"""The commands that a client may have run, and those that clients of ours have themselves."""

from __future__ import annotations

DEBUG = "meshlens.printDebugInformation"
SHOW_PLACE = "meshlens.showPlace"
COMMANDS = (DEBUG, SHOW_PLACE)

SHOW_MAP = "meshlens.showMap"
SHOW_PLACES = "meshlens.showPlaces"
