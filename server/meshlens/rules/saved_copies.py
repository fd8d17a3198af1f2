"""A replicated state is saved with all of its per-device copies.

`flax.jax_utils.replicate` puts a copy of each array on every device, along a new leading axis that `pmap` maps over.
If you save all copies, the file is larger by a factor of the number of devices and can be restored only on that number
of devices. Anywhere else, it does not fit the model: you get a `flax.errors.ScopeParamShapeError` or, if nothing
compares the shapes, wrong shapes later.
Save only the first device's copy.

```python
import jax.numpy as jnp
from flax import jax_utils, serialization


params = jax_utils.replicate(jnp.ones(4))
with open("params.msgpack", "wb") as file:
    file.write(serialization.to_bytes(params))
    #                                 ^^^^^^ AX410: this saves every device's copy; save only the first device's
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
            why = "files saved before this change contain every device's copy"
            fixes = (Fix(f"save {one}", (FileEdit(view.path, Edit(span, one)),), "unsafe", why),)
        place = Related(view.path_of(use.other), view.span(use.other), "copied here")
        yield Finding(span, "this saves every device's copy; save only the first device's", fixes, (place,))
