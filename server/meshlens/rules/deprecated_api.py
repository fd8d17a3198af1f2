"""The code uses an API that is deprecated in the JAX version in use.

It still works, with a `DeprecationWarning`, but a later release will remove it.
Code that also supports older versions, under `try: … except ImportError`, `hasattr` or a version check, is not
reported.

```python
import jax
import numpy as np
from jax.experimental.shard_map import shard_map
#                                      ^^^^^^^^^ AX502: "jax.experimental.shard_map.shard_map" has been deprecated \\
#                                      since JAX 0.8.0; use "jax.shard_map"
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))
double = shard_map(lambda x: x * 2, mesh, in_specs=P("data"), out_specs=P("data"), check_rep=False)
```

becomes

```python
import jax
import numpy as np
from jax import shard_map
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))
double = shard_map(lambda x: x * 2, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
```

The names that are deprecated most often, and what to write instead:

| deprecated | instead |
|---|---|
| `with mesh:` | `with jax.set_mesh(mesh):` |
| `pjit(f, in_shardings=P(…))` | the same with `jax.jit`, which takes a spec only under `jax.set_mesh(mesh)` |
| `thread_resources.env.physical_mesh` | `jax.sharding.get_mesh()` or `jax.sharding.get_abstract_mesh()` |
| `jax.jit(f, backend="cpu")` | `jax.jit(f)`, called with `jax.device_put(x, jax.local_devices(backend="cpu")[0])` |

The two functions that replace `thread_resources` return different meshes (JAX 0.10.2):

- `get_mesh()` returns the mesh with its devices, for `jax.device_put` and for everything else that runs before or after
  the compiled code. While JAX traces a function, for example for `jit`, `vmap` or `shard_map`, it raises a
  `ValueError`.
- `get_abstract_mesh()` returns a mesh without devices, which has the names, sizes and types of the axes. Traced code
  can use it, for example in `jax.lax.with_sharding_constraint`, and a `shard_map` makes its axes `Manual` there.

Both are empty under `with mesh:`, while `thread_resources` is empty under `jax.set_mesh`, and a `pjit` accepts specs
only under `with mesh:`. So change them all together. MeshLens offers no fix for `with mesh:` if any file of the project
uses `thread_resources`, and the fix for a `pjit` with shardings is unsafe.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Const, Data
from meshlens.checking.entered_meshes import first_use
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.facts.nodes import IfExpression
from meshlens.jaxapi.history import BEHAVIOURS, Change, KeywordChange, holds, keyword_change
from meshlens.project.trees import path_to
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import name_of_module
from meshlens.rules.helpers.history import dated_keywords, dated_names, is_removed
from meshlens.rules.helpers.history_fixes import history_fixes, keyword_finding, version_words, wording
from meshlens.rules.helpers.uses_of_names import UsesOfNames
from meshlens.text import Edit, FileEdit, Span

_MESH_ENTERED = "jax.sharding.Mesh.__enter__"
_UNSEEN = "no fix, because this does not see the mesh of jax.set_mesh; change it first"


@rule("AX502", Severity.WARNING, reads="names")
def deprecated_api(view: FileView) -> Iterator[Finding]:
    """Reports deprecated names and keywords of the JAX version in use."""
    version = view.jax_version

    def going(row: Change) -> bool:
        return row.deprecated is not None and row.deprecated <= version and not is_removed(row, version)

    names = UsesOfNames(view)
    for dated in dated_names(view, going):
        assert dated.change.deprecated is not None
        since = version_words(dated.change.deprecated)
        message = f'"{dated.change.dotted}" has been deprecated since {since}{wording(dated, version)}'
        yield Finding(dated.span, message, history_fixes(view, dated, names))
    yield from _keywords(view)

    def warned_of(row: KeywordChange) -> bool:
        return row.deprecated is not None and row.deprecated <= version and not is_removed(row, version)

    for keyword in dated_keywords(view, warned_of):
        assert keyword.change.deprecated is not None
        since = version_words(keyword.change.deprecated)
        message = f'argument "{keyword.change.keyword}" of "{keyword.change.dotted}" has been deprecated since {since}'
        yield keyword_finding(view, keyword, message)
    if holds("mesh-context-is-deprecated", version):
        yield from _mesh_contexts(view)


def _keywords(view: FileView) -> Iterator[Finding]:
    seen: set[Span] = set()
    for call in view.records.calls:
        for arg in call.args:
            row = keyword_change(call.dotted, arg.label) if arg.label is not None and arg.whole is not None else None
            if row is None or arg.whole is None or row.deprecated is None or row.deprecated > view.jax_version:
                continue
            span = view.span(arg.whole)
            if is_removed(row, view.jax_version):
                continue
            if call.guarded or call.context.guarded or span in seen or not view.is_here(arg.whole):
                continue
            if isinstance(arg.value, Data) or arg.value == Const(None):
                continue
            seen.add(span)
            text = (
                f'argument "{row.keyword}" of "{row.dotted}" has been deprecated since {version_words(row.deprecated)}'
            )
            yield Finding(span, f"{text}; {row.note}" if row.note else text, severity=Severity.HINT)


def _mesh_contexts(view: FileView) -> Iterator[Finding]:
    """Yields a finding for each mesh entered by `with`, unless its constructor was removed (AX501).

    The finding has no fix if the project uses `thread_resources`, which does not see the mesh of `jax.set_mesh`.
    """
    seen: set[Span] = set()
    since = version_words(BEHAVIOURS["mesh-context-is-deprecated"])
    entered = [one for one in view.records.mentions if one.dotted == _MESH_ENTERED and not one.guarded]
    removed = [one.span for one in dated_names(view, lambda row: is_removed(row, view.jax_version))] if entered else []
    use = first_use(view.solution) if entered else None
    places = (Related(view.path_of(use), view.span(use), _UNSEEN),) if use is not None else ()
    for mention in entered:
        span = view.span(mention.site)
        if span in seen or any(map(span.contains, removed)):
            continue
        seen.add(span)
        jax = name_of_module(view, "jax")
        fixes: tuple[Fix, ...] = ()
        # One branch of a conditional expression may not be a mesh: it may be nullcontext(), for example.
        is_choice = any(isinstance(node, IfExpression) for node in path_to(view, mention.site)[-1:])
        if jax is not None and not is_choice and not places:
            edit = FileEdit(view.path, Edit(span, f"{jax}.set_mesh({view.text(mention.site)})"))
            why = "arrays created inside are then placed on the mesh, and jit may reject them"
            fixes = (Fix('use "jax.set_mesh"', (edit,), "unsafe", why),)
        message = f"`with mesh:` has been deprecated since {since}; use `with jax.set_mesh(mesh):`"
        yield Finding(span, message, fixes, places)
