"""`meshlens/virtualDevices`: the environment in which a program sees so many virtual devices."""

from __future__ import annotations

import os
from typing import Any

from meshlens.devices.topology import BadTopology, parse_topology
from meshlens.devices.virtual import virtual_environment
from meshlens.lsp.refusal import INVALID_PARAMS, Refusal
from meshlens.lsp.session import Session


def virtual_devices(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """The variables to set, for a number or for any topology.

    Raises:
        Refusal: `devices` is neither.
    """
    try:
        topology = parse_topology(params.get("devices"))
    except BadTopology as error:
        raise Refusal(f'"devices": {error}', INVALID_PARAMS) from None
    return {"env": virtual_environment(topology.count, os.environ)}
