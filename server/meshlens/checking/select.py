"""Selects rules by codes, prefixes of codes, names, or `ALL`; the most specific selector wins, or `ignore` on a tie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from meshlens.checking.registry import Rule, all_rules
from meshlens.project.disk.patterns import matches
from meshlens.settings import Settings


@lru_cache(maxsize=64)
def selected_rules(settings: Settings) -> tuple[Rule, ...]:
    """Returns the rules that run under these settings, sorted by code."""
    return tuple(rule for rule in all_rules() if _runs(rule, settings))


@lru_cache(maxsize=4096)
def muted_codes(path: Path, settings: Settings) -> frozenset[str]:
    """Returns the codes that `per-file-ignores` silences in a file."""
    if not settings.per_file_ignores:
        return frozenset()
    folder = Path(settings.folder)
    relative = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.as_posix().lstrip("/")
    selectors = [
        selector
        for pattern, ignored in settings.per_file_ignores
        if matches((pattern,), relative)
        for selector in ignored
    ]
    return frozenset(rule.code for rule in all_rules() if any(exactness(one, rule) for one in selectors))


def unknown_selectors(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yields, for each selector that matches no rule, the setting that contains it and a message."""
    by_pattern = [selector for _, ignored in settings.per_file_ignores for selector in ignored]
    for key, selectors in (
        ("select", settings.select),
        ("extend-select", settings.extend_select),
        ("ignore", settings.ignore),
        ("per-file-ignores", by_pattern),
    ):
        for selector in selectors:
            if not any(exactness(selector, rule) for rule in all_rules()):
                yield key, f'unknown rule "{selector}"{did_you_mean(selector)}'


def did_you_mean(selector: str) -> str:
    """Returns the end of a message with the rule that was probably meant, or ""."""
    names = [name for rule in all_rules() for name in (rule.name, rule.code)]
    wanted = selector.upper() if selector[:2].upper() == "AX" else selector.lower().replace("_", "-")
    close = get_close_matches(wanted, names, n=1, cutoff=0.7)
    return f'; did you mean "{close[0]}"?' if close else ""


def exactness(selector: str, rule: Rule) -> int:
    """Returns how specifically a selector matches a rule; 0 if it does not."""
    if selector.upper() == "ALL":
        return 1
    if selector.lower() == rule.name:
        return 100
    upper = selector.upper()
    return len(upper) + (90 if upper == rule.code else 0) if upper[:2] == "AX" and rule.code.startswith(upper) else 0


def _runs(rule: Rule, settings: Settings) -> bool:
    chosen = _most_exact(settings.select, rule) if settings.select else int(rule.default)
    chosen = max(chosen, _most_exact(settings.extend_select, rule))
    return chosen > _most_exact(settings.ignore, rule)


def _most_exact(selectors: Iterable[str], rule: Rule) -> int:
    return max((exactness(selector, rule) for selector in selectors), default=0)
