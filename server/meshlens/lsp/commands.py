"""Commands that clients may execute, and commands that our own clients implement."""

from __future__ import annotations

DEBUG = "meshlens.printDebugInformation"
SHOW_PLACE = "meshlens.showPlace"
TRACE = "meshlens.trace"
FORGET_TRACES = "meshlens.forgetTraces"
COMMANDS = (DEBUG, SHOW_PLACE, TRACE, FORGET_TRACES)

SHOW_MAP = "meshlens.showMap"
SHOW_PLACES = "meshlens.showPlaces"
SHOW_COSTS = "meshlens.showCosts"
