"""A state of which every device has a copy is saved with all copies.

`flax.jax_utils.replicate` puts a copy of each array on every device, along a new leading axis that `pmap` maps over.
Saved like that, the file is as many times as large, can be restored only on as many devices, and does not fit the model
anywhere else: `flax.errors.ScopeParamShapeError` or, where shapes are not compared, wrong shapes later.
Save the copy of the first device.

```python
import jax.numpy as jnp
from flax import jax_utils, serialization


params = jax_utils.replicate(jnp.ones(4))
with open("params.msgpack", "wb") as file:
    file.write(serialization.to_bytes(params))
    #                                 ^^^^^^ AX410: this saves the copies of all devices; save that of the first one
```

becomes

```python
import jax.numpy as jnp
from flax import jax_utils, serialization


params = jax_utils.replicate(jnp.ones(4))
with open("params.msgpack", "wb") as file:
    file.write(serialization.to_bytes(jax_utils.unreplicate(params)))
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.project.view import FileView
from meshlens.rules.helpers.renames import spelled
from meshlens.text import Edit, FileEdit

_ONE_VALUE = re.compile(r"[\w.]+")


@rule("AX410", Severity.WARNING, reads="places", state="preview")
def saved_copies(view: FileView) -> Iterator[Finding]:
    """Reports each state that is saved with a copy for every device."""
    for use in certain_uses(view, ("copies-saved",)):
        if use.other is None:
            continue
        span, saved = view.span(use.site), view.text(use.site)
        first, on_tree = spelled(view, "flax.jax_utils.unreplicate"), spelled(view, "jax.tree.map")
        fixes: tuple[Fix, ...] = ()
        if _ONE_VALUE.fullmatch(saved) and (first is not None or on_tree is not None):
            one = f"{first}({saved})" if first is not None else f"{on_tree}(lambda x: x[0], {saved})"
            why = "files that were saved before hold the copies of all devices"
            fixes = (Fix(f"save {one}", (FileEdit(view.path, Edit(span, one)),), "unsafe", why),)
        place = Related(view.path_of(use.other), view.span(use.other), "copied here")
        yield Finding(span, "this saves the copies of all devices; save that of the first one", fixes, (place,))
