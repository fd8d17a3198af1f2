"""`meshlens/virtualDevices`: the Python and environment for running a program on virtual devices."""

from __future__ import annotations

import os
from typing import Any

from meshlens.devices.topology import BadTopology, parse_topology
from meshlens.devices.virtual import virtual_environment
from meshlens.lsp.devices_shown import project_named
from meshlens.lsp.probing import NO_PYTHON
from meshlens.lsp.session import Session
from meshlens.lsp.wire.refusal import INVALID_PARAMS, Refusal

NOT_TRUSTED = "the workspace is not trusted; trust it to run its programs"


async def virtual_devices(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the Python that device queries use for the project of `uri`, the variables to set, and any failure.

    Raises:
        Refusal: `devices` is neither a number nor a topology.
    """
    try:
        topology = parse_topology(params.get("devices"))
    except BadTopology as error:
        raise Refusal(f'"devices": {error}', INVALID_PARAMS) from None
    root, _ = project_named(session, params)
    interpreter = await session.probing.python_of(root) if session.trusted else None
    failure = NOT_TRUSTED if not session.trusted else NO_PYTHON if interpreter is None else None
    return {
        "env": virtual_environment(topology.count, os.environ),
        "interpreter": interpreter,
        "failure": failure,
    }
