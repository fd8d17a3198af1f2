"""A comment sets target devices that MeshLens does not know.

MeshLens ignores the comment and uses the project's `devices`; if none are set, it does not check device counts in this
file.

```python
# meshlens: devices=v5e-12
#                   ^^^^^^ AX902: expected a v5e slice of 1, 4, 8, 16, 32, 64, 128, 256 chips, or a layout such as \\
#                   "v5e-4x4"
import jax

print(jax.device_count())
```

Write a number, a shape, a TPU slice or a GPU model; [devices.md](devices.md) lists them all.

```python
# meshlens: devices=v5e-16
import jax

print(jax.device_count())
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.devices.topology import BadTopology, parse_topology
from meshlens.project.view import FileView
from meshlens.text import Span


@rule("AX902", Severity.WARNING, reads="tied")
def unknown_devices(view: FileView) -> Iterator[Finding]:
    """Checks the file's `meshlens: devices=` comment."""
    said = view.facts.devices
    if said is None or said.how != "comment":
        return
    try:
        parse_topology(said.text)
    except BadTopology as error:
        comment = re.compile(rb"meshlens:\s*devices\s*=\s*(?=" + re.escape(said.text.encode()) + rb")")
        found = comment.search(view.source)
        if found is not None:
            yield Finding(Span(found.end(), found.end() + len(said.text.encode())), str(error))
