"""Follows how variables depend on the rows of a batch through the statements of a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from meshlens.assists._following import Env, Follow
from meshlens.assists._gradients import takes
from meshlens.assists._kinds import LINEAR, Kind, applied, combined, either, flat, together
from meshlens.project.trees import Node, name_of_block, names_bound, tree


def follow_body(follow: Follow, body: Iterable[Node]) -> None:
    """Follows statements; what they return is collected."""
    for statement in body:
        follower = _STATEMENTS.get(statement[0])
        if follower is not None:
            follower(follow, statement)
        elif statement[0] not in ("pass", "break", "continue", "import", "from", "raise", "assert", "global"):
            follow.env |= dict.fromkeys(names_bound([statement]), "mixed")


def _assign(follow: Follow, statement: Node) -> None:
    if takes(follow.view, statement[3]):
        follow.makers |= {target[2]: (statement[3], follow) for target in statement[2] if target[0] == "name"}
    is_plain = statement[3][0] not in ("dict", "tuple", "list") and all(map(_is_name, statement[2]))
    kind = follow.kind(statement[3]) if is_plain else follow.whole(statement[3])
    for target in statement[2]:
        _bind(follow, target, kind)
        if statement[3][0] == "lambda" and target[0] == "name":
            follow.local[target[2]] = (statement[3], follow)
            del follow.env[target[2]]
    _reduce(follow, statement, statement[2])


def _annotated(follow: Follow, statement: Node) -> None:
    if statement[4] is not None:
        _bind(follow, statement[2], follow.kind(statement[4]))
        _reduce(follow, statement, (statement[2],))


def _augmented(follow: Follow, statement: Node) -> None:
    _bind(follow, statement[2], combined(statement[3], follow.kind(statement[2]), follow.kind(statement[4])))
    _reduce(follow, statement, (statement[2],))


def _reduce(follow: Follow, statement: Node, targets: tuple[Node, ...]) -> None:
    """Has the means and sums that a statement of the step itself binds reduced in the line below it."""
    if follow.lines is None or len(targets) != 1:
        return
    names = [name for name in _names(targets[0]) if name not in follow.reduced_later]
    for kind in LINEAR:
        found = tuple(name for name in names if flat(follow.env.get(name, "same")) == kind)
        if found:
            follow.lines.setdefault((statement[1], kind), (statement, found))
            follow.env |= dict.fromkeys(found, "same")


def _is_name(target: Node) -> bool:
    return target[0] == "name" or (target[0] in ("tuple", "list") and all(map(_is_name, target[2])))


def _names(target: Node) -> list[str]:
    if target[0] in ("tuple", "list"):
        return [name for item in target[2] for name in _names(item)]
    return [target[2]] if target[0] == "name" else []


def _bind(follow: Follow, target: Node, kind: Kind) -> None:
    if target[0] == "name":
        follow.env[target[2]] = kind
        follow.local.pop(target[2], None)
    elif target[0] in ("tuple", "list"):
        for item, part in zip(target[2], _parts(kind, len(target[2])), strict=True):
            _bind(follow, item, part)
    elif target[0] == "star":
        _bind(follow, target[2], flat(kind))
    elif target[0] in ("attr", "sub"):
        for name in names_bound([("assign", 0, (target,), ("const", 0, None))]):
            follow.env[name] = together((follow.look_up(name), kind))


def _parts(kind: Kind, count: int) -> tuple[Kind, ...]:
    if isinstance(kind, tuple) and len(kind) == count:
        return kind
    if kind == "shape":
        return ("count", *["same"] * (count - 1))
    return (flat(kind),) * count


def _expression(follow: Follow, statement: Node) -> None:
    node = statement[2]
    if node[0] != "call":
        return
    given = applied(follow.kind(value) for _, _, value in node[3])
    holders = [value[2] for _, _, value in node[3] if value[0] == "name"]
    if node[2][0] == "attr" and node[2][2][0] == "name":
        holders = [node[2][2][2]]
        given = together(follow.kind(value) for _, _, value in node[3])
    # A call may put what it is given into whatever else it is given.
    for name in holders if given != "same" else ():
        follow.env[name] = together((follow.look_up(name), given))


def _return(follow: Follow, statement: Node) -> None:
    follow.returned.append(follow.whole(statement[2]) if statement[2] is not None else "same")


def _if(follow: Follow, statement: Node) -> None:
    before = dict(follow.env)
    follow_body(follow, statement[3])
    then, follow.env = follow.env, before
    follow_body(follow, statement[4])
    follow.env = _joined(then, follow.env)


def _for(follow: Follow, statement: Node) -> None:
    kind = flat(follow.kind(statement[3]))
    _loop(follow, statement[4], lambda: _bind(follow, statement[2], "mixed" if kind == "rows" else kind))


def _while(follow: Follow, statement: Node) -> None:
    _loop(follow, statement[3], lambda: None)


def _loop(follow: Follow, body: Iterable[Node], begin: Callable[[], None]) -> None:
    for _ in range(2):
        before = dict(follow.env)
        begin()
        follow_body(follow, body)
        follow.env = _joined(before, follow.env)


def _with(follow: Follow, statement: Node) -> None:
    for value, target in statement[2]:
        if target is not None:
            _bind(follow, target, flat(follow.kind(value)))
    follow_body(follow, statement[3])


def _try(follow: Follow, statement: Node) -> None:
    follow_body(follow, statement[2])
    after = dict(follow.env)
    for handler in statement[3]:
        follow_body(follow, handler[2])
        after = _joined(after, follow.env)
    follow.env = after
    follow_body(follow, (*statement[4], *statement[5]))


def _function(follow: Follow, statement: Node) -> None:
    follow.local[statement[2][0]] = (statement, follow)
    follow.env.pop(statement[2][0], None)


def _block(follow: Follow, statement: Node) -> None:
    found = tree(follow.view, str(follow.view.path), statement[2])
    if found is not None:
        follow.local[name_of_block(statement[2])] = (found, follow)


def _joined(left: Env, right: Env) -> Env:
    return {name: either(left.get(name, "same"), right.get(name, "same")) for name in dict.fromkeys((*left, *right))}


_STATEMENTS: dict[str, Callable[[Follow, Node], None]] = {
    "assign": _assign,
    "ann": _annotated,
    "aug": _augmented,
    "expr": _expression,
    "return": _return,
    "if": _if,
    "for": _for,
    "while": _while,
    "with": _with,
    "try": _try,
    "fn": _function,
    "def": _block,
    "class": lambda follow, statement: None,
}
