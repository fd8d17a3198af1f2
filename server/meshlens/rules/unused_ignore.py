"""An ignore comment silences nothing.

The comment may have been needed once.
If it stays, it hides the next finding on its line, although nobody has reviewed that finding.

The rule does not report comments for rules that do not run, comments for rules that check device counts if no count is
set, or `# noqa` without codes, which other tools read too.

```python
import jax

@jax.jit
def double(x):
    return x * 2  # meshlens: ignore[unbound-axis]
    #             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX901: "unbound-axis" silences nothing here
```

becomes

```python
import jax

@jax.jit
def double(x):
    return x * 2
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.checking.model import Finding, Fix, Severity
from meshlens.checking.registry import rule
from meshlens.checking.select import did_you_mean
from meshlens.checking.suppress import CheckedView, Idle
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_CODES = re.compile(rb"(?i:noqa)\s*:\s*(?P<noqa>[A-Za-z]+[0-9]\w*(?:[\s,]+[A-Za-z]+[0-9]\w*)*)|\[(?P<ours>[^\]#]*)\]")
_CODE = re.compile(rb"[\w-]+")


@rule("AX901", Severity.WARNING, reads="tied")
def unused_ignore(view: FileView) -> Iterator[Finding]:
    """Yields a finding for each ignore comment, or code in one, that silences no finding of another rule."""
    if not isinstance(view, CheckedView):
        return
    for idle in view.idle:
        for code in idle.codes or ("",):
            yield _finding(view, idle, code)


def _finding(view: FileView, idle: Idle, code: str) -> Finding:
    span = idle.suppression.span
    places = _places(view.source, span)
    place = places.get(code.lower())
    shown = place if place is not None and len(places) > 1 else span
    if not code:
        message = "this comment silences nothing"
    elif code in idle.unknown:
        message = f'unknown rule "{code}"{did_you_mean(code)}'
    else:
        message = f'"{code}" silences nothing {"in this file" if idle.suppression.whole_file else "here"}'
    ours = {one.lower() for one in idle.codes}
    if idle.whole and all(name in ours for name in places):
        fix = Fix("remove the comment", (FileEdit(view.path, _without_comment(view.source, span)),))
    else:
        fix = Fix("remove the codes that silence nothing", (FileEdit(view.path, _without(view.source, places, ours)),))
    return Finding(shown, message, fixes=(fix,), unused=True)


def _places(source: bytes, span: Span) -> dict[str, Span]:
    """Returns the span of each code or name in a comment by its lower-case text, including those of other tools."""
    found = _CODES.search(source, span.start, span.end)
    if found is None:
        return {}
    group = "noqa" if found["noqa"] is not None else "ours"
    return {
        one[0].decode("utf-8", "replace").lower(): Span(*one.span())
        for one in _CODE.finditer(source, found.start(group), found.end(group))
    }


def _without_comment(source: bytes, span: Span) -> Edit:
    """Removes a comment: with its whole line if nothing else is on it, otherwise with the space before it."""
    line_start = max(source.rfind(b"\n", 0, span.start), source.rfind(b"\r", 0, span.start)) + 1
    end = span.end
    while source[end : end + 1] in (b" ", b"\t"):
        end += 1
    if source[end : end + 1] not in (b"", b"\n", b"\r"):
        return Edit(Span(span.start, end), "")
    if source[line_start : span.start].strip():
        start = line_start + len(source[line_start : span.start].rstrip(b" \t"))
        return Edit(Span(start, end), "")
    end += 2 if source[end : end + 2] == b"\r\n" else len(source[end : end + 1])
    return Edit(Span(line_start, end), "")


def _without(source: bytes, places: dict[str, Span], gone: set[str]) -> Edit:
    """Removes codes from a list, each with a comma, as one edit of the whole list."""
    spans = list(places.values())
    whole = Span(spans[0].start, spans[-1].end)
    kept = [source[span.start : span.end].decode() for name, span in places.items() if name not in gone]
    between = source[spans[0].end : spans[1].start].decode() if len(spans) > 1 else ", "
    return Edit(whole, between.join(kept))
