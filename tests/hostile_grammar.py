"""Writes programs of at most 2 KB that make an abstract interpreter do much work, from a grammar and from seeds.

A random generator makes every choice: `random.Random(seed)` in the benchmark, `hypothesis.strategies.randoms()` in the
tests.  Nothing here is ever executed.

A rule of the grammar is a text with holes: `<str>` is an expression of a kind, `<Str>` a variable of that kind,
`<num!>` an expression that may not grow any further, and `<block>` statements one level deeper.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from random import Random

from hostile_seeds import HEAD, SEEDS
from small_programs import MOST_BYTES, size

VARIABLES: Mapping[str, Sequence[str]] = {
    "str": ("s", "t"),
    "tup": ("u", "v"),
    "num": ("n", "k"),
    "dic": ("d", "e"),
    "fn": ("f", "g", "h"),
    "spec": ("p", "q"),
    "mesh": ("m",),
    "obj": ("o", "b"),
    "lst": ("l", "r"),
    "any": ("x", "y", "c"),
}
_PREAMBLE = """\
import sys
z = sys.argv
s, t, u, v, n, k, d, e = "i", "j", ("i", "j"), (0, None), 2, 3, {"i": f}, {"x": 0}
g, h, p, q, l, r = lambda x: f(x), jax.jit(f), P("i"), P(), [f], [0]
m = Mesh(np.array(jax.devices()).reshape(2, 4), ("i", "j"))
class A:
    def __init__(self, *a): self.a = self.w = a
    def w(self, x): return f(x)
o, b, x, y, c = A(), A(f), jnp.ones((8, 2)), 1, None
"""

# The first rules of a kind have no holes other than variables: they end an expression.
EXPRESSIONS: Mapping[str, Sequence[str]] = {
    "str": (
        "'i'",
        "<Str>",
        "<Str>",
        "<str> + <str>",
        "f'{<str>}{<str>!r}'",
        "f'{<any>:>{<num>}}'",
        "'%s-%s' % (<str>, <any>)",
        "'{0}{0}{1}'.format(<str>, <tup>)",
        "<str>.join([<str>, <str>])",
        "<str>.join(<tup>)",
        "''.join(i + <str> for i in <str>)",
        "<str>.replace('i', <str>)",
        "<str>.replace('', <str>)",
        "<str> * <num>",
        "str(<any>)",
        "repr(<tup>)",
        "<str>.ljust(<num>, 'i')",
        "<str>[::-1]",
        "<str>[<num>:]",
        "<tup>[<num>]",
        "<str>.upper().lower().strip()",
        "(<str> or <str>)",
        "(<str> if z else <str>)",
        "<mesh>.axis_names[<num>]",
        "<dic>.get(<str>, <str>)",
        "<str>.encode().decode()",
        "getattr(<obj>, <str>, <str>)",
        "<fn>.__name__",
        "max(<str>, <str>)",
        "<str>.partition(<str>)[0]",
        "<str>.translate({105: <str>})",
    ),
    "tup": (
        "()",
        "<Tup>",
        "<Tup>",
        "(<tup>, <tup>)",
        "<tup> + <tup>",
        "(*<tup>, *<tup>)",
        "<tup> * <num>",
        "(<str>, <tup>)",
        "(<fn>, <tup>)",
        "tuple(<lst>)",
        "tuple(zip(<tup>, <tup>))",
        "tuple(i for i in <tup> for j in <tup>)",
        "tuple((i, i) for i in <tup>)",
        "tuple(enumerate(<tup>))",
        "tuple(sorted(<tup>))",
        "tuple(reversed(<tup>))",
        "tuple(<dic>.items())",
        "tuple(range(<num>))",
        "tuple(map(<fn>, <tup>))",
        "<tup>[::-1]",
        "<tup>[<num>:<num>]",
        "sum((<tup>, <tup>), ())",
        "tuple(<str>.split('i'))",
        "(<tup> if z else <tup>)",
        "tuple(<mesh>.axis_names)",
        "tuple(<spec>)",
        "divmod(<num>, <num>)",
        "(<any>, <any>, <any>)",
    ),
    "num": (
        "2",
        "<Num>",
        "<Num>",
        "10**9",
        "-1",
        "0",
        "1 << 40",
        "10**100",
        "1e308",
        "True",
        "<num> + <num>",
        "<num> * <num>",
        "<num> ** <num>",
        "<num> << <num>",
        "<num> // <num>",
        "<num> % <num>",
        "-<num>",
        "len(<tup>)",
        "len(<str>)",
        "int(<str>)",
        "int('9' * <num>)",
        "sum(range(<num>))",
        "max(<num>, <num>)",
        "pow(<num>, <num>)",
        "hash(<tup>)",
        "<x>.shape[<num>]",
        "jax.device_count() * <num>",
        "(<num> if z else <num>)",
        "<mesh>.size",
        "<mesh>.shape[<str>]",
        "<tup>.index(<str>)",
        "<str>.count(<str>)",
        "round(<num> / <num>)",
        "lax.axis_index(<str>)",
        "lax.psum(1, <str>)",
    ),
    "dic": (
        "{}",
        "<Dic>",
        "<Dic>",
        "{'l': <dic>, 'r': <dic>}",
        "{**<dic>, **<dic>}",
        "{**<dic>, <str>: <any>}",
        "<dic> | <dic>",
        "dict(<dic>, x=<dic>)",
        "dict(zip(<tup>, <tup>))",
        "{i: <dic> for i in <tup>}",
        "{k + 'i': (v, v) for k, v in <dic>.items()}",
        "dict.fromkeys(<tup>, <dic>)",
        "{<str>: <fn>, <str>: <fn>}",
        "{<tup>: <tup>}",
        "<dic>.copy()",
        "(<dic> if z else <dic>)",
        "vars(<obj>)",
        "jax.tree.map(<fn>, <dic>, <dic>)",
        "{**vars(), **<dic>}",
    ),
    "fn": (
        "f",
        "<Fn>",
        "<Fn>",
        "<Fn>",
        "jax.vmap(<fn>, axis_name=<str>)",
        "jax.vmap(<fn>, in_axes=<tup>, out_axes=<dic>)",
        "jax.pmap(<fn>, axis_name=<str>)",
        "jax.pmap(<fn>, axis_name=<str>, in_axes=<tup>, static_broadcasted_argnums=<tup>)",
        "jax.jit(<fn>)",
        "jax.grad(<fn>, argnums=<tup>)",
        "jax.checkpoint(<fn>)",
        "jax.shard_map(<fn>, mesh=<mesh>, in_specs=<spec>, out_specs=<spec>)",
        "jax.shard_map(<fn>, mesh=<mesh>, in_specs=<tup>, out_specs=<tup>, axis_names=set(<tup>))",
        "partial(<fn>, <any>)",
        "partial(<fn>, *<tup>)",
        "partial(<fn>, **<dic>)",
        "partial(jax.vmap, axis_name=<str>)(<fn>)",
        "partial(<fn>, <fn>, x=<fn>)",
        "(lambda x: <fn>(<fn>(x)))",
        "(lambda x, y=<fn>: y(<fn>)(x))",
        "(lambda *a, **k: <fn>(*a, *a, **k))",
        "(lambda x: lax.psum(<fn>(x), <str>))",
        "(lambda h: lambda x: h(h(x)))(<fn>)",
        "(lambda x: x(x))(<fn>)",
        "<fn>(<fn>)",
        "<dic>[<str>]",
        "<dic>.get(<any>, <fn>)",
        "<lst>[<num>]",
        "<tup>[<num>]",
        "(<fn> if z else <fn>)",
        "(<fn> or <fn>)",
        "<obj>.w",
        "getattr(<obj>, <str>)",
        "getattr(lax, <str>)",
        "getattr(jax, 'p' + 'map')",
        "functools.wraps(<fn>)(<fn>)",
        "functools.reduce(lambda a, b: lambda x: a(b(x)), <lst>)",
        "functools.lru_cache(<fn>)",
        "A(<fn>).w",
        "type(<obj>)(<fn>).w",
        "max(<fn>, <fn>, key=<fn>)",
    ),
    "spec": (
        "P()",
        "<Spec>",
        "<Spec>",
        "P(<str>)",
        "P(*<spec>, *<spec>)",
        "P(<tup>, None)",
        "P(*<tup>)",
        "P((*<tup>, *<tup>))",
        "(<spec>, <spec>)",
        "{'l': <spec>, 'r': <spec>}",
        "[<spec>] * <num>",
        "<spec> + <spec>",
        "P(*<mesh>.axis_names)",
        "(<spec> if z else <spec>)",
        "jax.tree.map(lambda _: <spec>, <dic>)",
        "jax.NamedSharding(<mesh>, <spec>).spec",
    ),
    "mesh": (
        "m",
        "<Mesh>",
        "Mesh(np.array(jax.devices()).reshape(<tup>), <tup>)",
        "Mesh(np.array(jax.devices() * <num>), <str>)",
        "Mesh(np.arange(<num>).reshape((<num>,) * <num>), <tup>)",
        "Mesh(<mesh>.devices, <mesh>.axis_names + <mesh>.axis_names)",
        "Mesh(np.zeros(<tup>), <tup>)",
        "Mesh(np.tile(<mesh>.devices, <num>), <tup>)",
        "jax.make_mesh((<num>, <num>), <tup>)",
        "jax.make_mesh(<tup>, <tup>)",
        "jax.make_mesh((2,) * <num>, <tup> * <num>)",
        "(<mesh> if z else <mesh>)",
    ),
    "lst": (
        "[]",
        "<Lst>",
        "<Lst>",
        "[<lst>, <lst>]",
        "<lst> + <lst>",
        "[*<lst>, *<lst>]",
        "<lst> * <num>",
        "[<fn>, <fn>, <fn>]",
        "[<fn>] * <num>",
        "list(range(<num>))",
        "list(<tup>)",
        "[i for i in <lst> for j in <lst>]",
        "[(i, j) for i in <tup> for j in <tup> if i != j]",
        "[i for i in range(<num>)]",
        "[jax.vmap(i, axis_name=<str>) for i in <lst>]",
        "sorted(<lst>, key=<fn>)",
        "list(map(<fn>, <lst>))",
        "[*<dic>, *<dic>.values()]",
        "<lst>[::-1]",
        "jax.tree.leaves(<dic>)",
        "jax.devices()[:<num>] * <num>",
        "list(zip(*[iter(<lst>)] * <num>))",
        "<str>.split(<str>)",
    ),
    "obj": (
        "o",
        "<Obj>",
        "<Obj>",
        "A(<obj>, <obj>)",
        "A(<fn>)",
        "A(*<tup>, *<lst>)",
        "<obj>.a",
        "getattr(<obj>, <str>, <obj>)",
        "(<obj> if z else <obj>)",
        "type('B', (A,), {<str>: <fn>})(<fn>)",
        "type('B', (type(<obj>), A), <dic>)()",
        "<obj>(<obj>)",
        "(<obj> or <obj>).a[<num>]",
    ),
    "any": (
        "None",
        "<Any>",
        "<Any>",
        "x",
        "<str>",
        "<tup>",
        "<num>",
        "<dic>",
        "<fn>",
        "<fn>(<any>)",
        "<fn>(<any>, <any>)",
        "<fn>(*<tup>, **<dic>)",
        "<spec>",
        "<mesh>",
        "<lst>",
        "<obj>",
        "lax.psum(<any>, <str>)",
        "lax.pmean(<any>, <tup>)",
        "lax.all_gather(<any>, <str>, axis=<num>)",
        "lax.ppermute(<any>, <str>, [(i, i + 1) for i in range(<num>)])",
        "lax.scan(<fn>, <any>, <any>, length=<num>)",
        "lax.cond(<any>, <fn>, <fn>, <any>)",
        "lax.switch(<num>, <lst>, <any>)",
        "lax.fori_loop(0, <num>, <fn>, <any>)",
        "lax.while_loop(<fn>, <fn>, <any>)",
        "jax.tree.map(<fn>, <any>, <any>)",
        "jnp.zeros(<tup>)",
        "jnp.ones((<num>, <num>)).reshape(<tup>)",
        "jnp.concatenate(<lst>)",
        "(<any>, <any>)",
        "<any>[<num>]",
        "<any>[<str>]",
        "(<any> if z else <any>)",
        "(<any> == <any>)",
        "(<any> in <any>)",
        "(yield <any>)",
        "(<Any> := <any>)",
        "next(i for i in <lst>)",
        "isinstance(<any>, (A, <any>))",
        "eval(<str>)",
    ),
}

SINKS: Sequence[str] = (
    "jax.pmap(<fn>, axis_name=<str>)(<any>)",
    "jax.pmap(<fn>, axis_name=<Str>, in_axes=<Tup>, out_axes=<Dic>)(<any>, <any>)",
    "jax.pmap(<Fn>, axis_name='i')(x)",
    "jax.pmap(lambda x: <Fn>(<Any>), axis_name='i')(x)",
    "jax.vmap(<Fn>, axis_name=<Str>, in_axes=<Any>)(<Any>)",
    "jax.pmap(<Fn>, axis_name='i', static_broadcasted_argnums=<Lst>, donate_argnums=<Tup>)(*<Lst>)",
    "jax.pmap(<Fn>, axis_size=<Num>, devices=<Lst>, axis_name=<Tup>)(**<Dic>)",
    "jax.shard_map(<Fn>, mesh=<Mesh>, in_specs=<Spec>, out_specs=<Spec>)(<Any>)",
    "jax.shard_map(<Fn>, mesh=<Mesh>, in_specs=(<spec>, P(*<Tup>)), out_specs=<Dic>)(<Any>, x)",
    "jax.jit(<Fn>, in_shardings=jax.NamedSharding(<Mesh>, <Spec>), static_argnames=<Tup>)(<Any>)",
    "jax.pmap(<Obj>.w, axis_name='i')(<Obj>.a)",
    "lax.psum(<Any>, <Str>)",
    "lax.pmean(x, <Tup>)",
    "jax.pmap(<Dic>[<Str>], axis_name='i')(x)",
    "jax.vmap(<Lst>[<Num>], axis_name=<Str>)(x)",
)

STATEMENTS: Sequence[str] = (
    "<assign>",
    "<assign>",
    "<sink>",
    "<sink>",
    "<Any> += <any>",
    "<Str> += <str>",
    "<Tup> += <tup>",
    "<Num> **= <num>",
    "<Dic>[<str>] = <any>",
    "<Lst>.append(<any>)",
    "<Lst>.extend(<lst>)",
    "<Lst> += <lst>",
    "<Dic>.update(<dic>)",
    "<Obj>.a = <any>",
    "<Obj>.w = <fn>",
    "setattr(<Obj>, <str>, <any>)",
    "<Any>, *<Lst> = <any>",
    "(<Any>, (<Str>, *<Tup>)), *<Lst> = <tup>",
    "<Any> = <Any> = <Tup> = <any>",
    "del <Any>",
    "assert <any>, <any>",
    "print(<any>, <any>)",
    "exec(<str>)",
    "import <mod>",
    "from <mod> import *",
    "from <mod> import f as <Fn>, s as <Str>",
    "global <Fn>, <Str>",
    "with <Mesh>, <any> as <Any>:\n<block>",
    "with jax.named_scope(<str>):\n<block>",
    "for <Fn> in <lst>:\n<block>",
    "for <Str> in <tup>:\n<block>",
    "for <Str> in ('i', 'j', 'k'):\n<block>",
    "for <Fn> in (<fn>, <fn>, <fn>):\n<block>",
    "for <Str>, <Fn> in <dic>.items():\n<block>",
    "for <Num> in range(<num>):\n<block>",
    "for <Any> in <any>:\n<block>\nelse:\n<block>",
    "while <any>:\n<block>",
    "while True:\n<block>\n    if <any>: break",
    "if z:\n<block>\nelse:\n<block>",
    "if <any>:\n<block>\nelif <any>:\n<block>\nelse:\n<block>",
    "try:\n<block>\nexcept <any> as <Any>:\n<block>\nfinally:\n<block>",
    "match <any>:\n    case (<Any>, *<Tup>) if <any>:\n<deeper>\n    case {'x': <Any>, **<Dic>}:\n<deeper>",
    "def <Fn>(x, y=<any>, *a, **k):\n<block>\n    return <any>",
    "def <Fn>(x, *<Tup>, <Any>=<any>):\n<block>\n    return <fn>(<any>, *<Tup>)",
    "def <Fn>(<Fn>):\n    def w(*a, **k):\n<deeper>\n        return <fn>(*a, **k)\n    return w",
    "def <Fn>(x=<fn>):\n    global <Fn>, <Any>\n<block>\n    yield <any>\n    yield from <fn>(x)",
    "@<fn>\n@<fn>\n@partial(jax.pmap, axis_name=<str>)\ndef <Fn>(x):\n<block>\n    return <any>",
    "async def <Fn>(x):\n<block>\n    return await <fn>(x)",
    "class A(A):\n    def __init__(self, *a): self.a = <any>\n    def __getattr__(self, s): return <any>",
    "class A(type(<obj>), A):\n    def __call__(self, x): return <any>\n    w = property(lambda self: <any>)",
    "class A:\n    a = <any>\n    def w(self, x):\n        self.w = <fn>\n        return self.w(<any>)",
)

CARRIERS: Sequence[str] = (
    "unrolled",
    "unrolled",
    "numbered",
    "loop",
    "while",
    "branches",
    "recursion",
    "fold",
    "nested loops",
    "attribute",
    "method",
    "comprehension",
    "maybe",
    "dictionary",
)

_HOLE = re.compile(r"<([A-Za-z]+)>")
_NUMBER = re.compile(r"\b\d+\b")
_NAME = re.compile(r"\b[a-z]\w?\b")
_HUGE = ("0", "1", "2", "3", "7", "99", "10**9", "10**12", "(-1)", "(1 << 70)", "1e999", "True", "None", "10**10**10")
_CONTINUES = re.compile(r"[\s)\]}]|el(se|if)\b|except\b|finally\b")
_STRAY = ("(", ")", "[", "}", ":", "'", '"""', "\\", "\0", "\t", "@", "=", "  \n ")
_BEGUN = ("def ", "class ", "lambda ", "for x in", "\nelse:\n", "\nimport ", " if ")
_MODULES = ("jax", "program", "b", "b.b", "os.path", "jax.lax")
_DEEPEST = 4
# Most programs parse; after this many attempts, one that does not parse is accepted too.
_ATTEMPTS = 3


def program(random: Random) -> str:
    """Writes a program."""
    write = random.choice((_from_grammar, _from_grammar, _from_seed, _from_seed, _from_both))
    for _ in range(_ATTEMPTS):
        text = _fitted(write(random), random)
        if _is_python(text):
            break
    return _fitted(_broken(text, random), random) if random.random() < 0.12 else text


def _from_grammar(random: Random) -> str:
    pieces = [_chain(random) if random.random() < 0.45 else _statement(random, 0) for _ in range(random.randint(2, 9))]
    pieces += [_expanded(random.choice(SINKS), random, 1) for _ in range(random.randint(1, 3))]
    if random.random() < 0.1:
        pieces.append("# === b.py\n" + HEAD + "from program import *\n" + _statement(random, 0))
    return HEAD + _PREAMBLE + "\n".join(pieces) + "\n"


def _from_seed(random: Random) -> str:
    text = random.choice(tuple(SEEDS.values()))
    for _ in range(random.randint(1, 4)):
        text = random.choice(_MUTATIONS)(text, random)
    return text


def _from_both(random: Random) -> str:
    seed = random.choice(tuple(SEEDS.values())).removeprefix(HEAD)
    pieces = [_chain(random), _statement(random, 1)]
    sinks = [_expanded(random.choice(SINKS), random, 1) for _ in range(2)]
    return "\n".join([HEAD + _PREAMBLE + pieces[0], pieces[1], seed, *sinks]) + "\n"


def _chain(random: Random) -> str:
    """Writes a value that grows from step to step, carried by one of Python's ways to repeat."""
    kind = random.choice(tuple(VARIABLES))
    name = random.choice(VARIABLES[kind])
    step = _step(kind, name, random)
    count = random.choice((6, 12, 20, 30, 45, 60))
    carrier = random.choice(CARRIERS)
    match carrier:
        case "numbered":
            renamed = re.compile(rf"\b{name}\b(?!=)")
            lines = [f"{name}0 = {name}"]
            lines += [f"{name}{i} = " + renamed.sub(f"{name}{i - 1}", step) for i in range(1, count)]
            lines.append(f"{name} = {name}{count - 1}")
            return "\n".join(_some(lines, 900))
        case "loop":
            return f"for _ in range({random.choice((count, '10**9', 'n', 'len(z)'))}):\n    {name} = {step}"
        case "while":
            return f"while {random.choice(('z', name, 'n', 'len(u) < 99'))}:\n    {name} = {step}\n    n -= 1"
        case "branches":
            other = _step(kind, name, random)
            return "\n".join(_some([f"if z[{i}]: {name} = {step}\nelse: {name} = {other}" for i in range(count)], 800))
        case "maybe":
            return "\n".join(_some([f"if z[{i}]: {name} = {step}" for i in range(count)], 800))
        case "recursion":
            sink = _expanded(random.choice(SINKS), random, 0)
            body = f"    {sink}\n    return f(x) + w({step}, x)"
            return f"def w({name}, x=x):\n{body}\njax.pmap(w, axis_name='i')({name})"
        case "fold":
            return f"{name} = functools.reduce(lambda {name}, _: {step}, range({count}), {name})"
        case "nested loops":
            inner = [f"{name} = {step}", _expanded(random.choice(SINKS), random, 0)]
            depth = min(count, 14)
            overs = [random.choice(("(1, 2)", "u", "z", "l", "(f, g, h)")) for _ in range(depth)]
            heads = [f"{' ' * level}for i{level} in {over}:" for level, over in enumerate(overs)]
            return "\n".join(heads + [" " * depth + line for line in inner])
        case "attribute":
            held = re.sub(rf"\b{name}\b(?!=)", "o.a", step)
            return f"o.a = {name}\n" + "\n".join(_some([f"o.a = {held}"] * count, 800)) + f"\n{name} = o.a"
        case "method":
            held = re.sub(rf"\b{name}\b(?!=)", "self.a", step)
            calls = random.choice(("self.w(x)", "self.w(self.w(x))", "A(self.a).w(x)"))
            body = f"        self.a = {held}\n        return f({calls})"
            return f"class B(A):\n    def w(self, x):\n{body}\nb = B({name})\n{name} = b.w(x)"
        case "comprehension":
            return f"l = [{name} for _ in l for _ in l if ({name} := {step})] * 3\n{name} = l[-1]"
        case "dictionary":
            held = re.sub(rf"\b{name}\b(?!=)", "d['a']", step)
            return f"d['a'] = {name}\n" + "\n".join(_some([f"d['a'] = {held}"] * count, 700)) + f"\n{name} = d['a']"
    return "\n".join(_some([f"{name} = {step}"] * count, 900))


def _some(lines: Sequence[str], most: int) -> Sequence[str]:
    """Returns as many of the first lines as fit."""
    each = max(1, max(len(line) for line in lines))
    return lines[: max(2, most // each)]


def _step(kind: str, name: str, random: Random) -> str:
    """Writes an expression of a kind in which most variables of that kind are this one."""
    rules = [rule for rule in EXPRESSIONS[kind] if f"<{kind}>" in rule] or EXPRESSIONS[kind]
    text = random.choice(rules)
    for _ in range(3):
        text = _HOLE.sub(
            lambda hole: name if hole[1].lower() == kind and random.random() < 0.85 else hole[0], text, count=3
        )
    return _expanded(text, random, random.randint(0, 1))


def _statement(random: Random, level: int) -> str:
    return _expanded(random.choice(STATEMENTS), random, random.randint(0, 2), level)


def _expanded(text: str, random: Random, depth: int, level: int = 0) -> str:
    """Fills the holes of a rule.

    Args:
        text: the rule.
        random: makes the choices.
        depth: how many more levels of expressions may nest.
        level: how many blocks enclose the statement.
    """

    def fill(hole: re.Match[str]) -> str:
        kind = hole[1]
        if kind in ("block", "deeper"):
            return _block(random, level + 1, "    " if kind == "block" else "        ")
        if kind == "assign":
            chosen = random.choice(tuple(VARIABLES))
            return f"{random.choice(VARIABLES[chosen])} = {_expression(chosen, random, depth + 1)}"
        if kind == "sink":
            return _expanded(random.choice(SINKS), random, depth)
        if kind == "mod":
            return random.choice(_MODULES)
        if kind[0].isupper():
            return random.choice(VARIABLES[kind.lower()])
        return _expression(kind if kind in EXPRESSIONS else "any", random, depth)

    return _HOLE.sub(fill, text)


def _expression(kind: str, random: Random, depth: int) -> str:
    rules = EXPRESSIONS[kind]
    return _expanded(random.choice(rules if depth > 0 else rules[:3]), random, depth - 1)


def _block(random: Random, level: int, indent: str) -> str:
    count = random.randint(1, 3) if level < _DEEPEST else 0
    inside = [_statement(random, level) for _ in range(count)] or [_expanded("<assign>", random, 0)]
    return "\n".join(f"{indent}{line}" for line in "\n".join(inside).split("\n"))


def _doubled(text: str, random: Random) -> str:
    pieces = _pieces(text, random)
    start = random.randrange(len(pieces))
    piece = pieces[start : start + random.randint(1, 4)]
    pieces[start:start] = piece * random.choice((1, 2, 5, 12))
    return "".join(pieces)


def _removed(text: str, random: Random) -> str:
    pieces = _pieces(text, random)
    del pieces[random.randrange(len(pieces))]
    return "".join(pieces)


def _moved(text: str, random: Random) -> str:
    pieces = _pieces(text, random)
    piece = pieces.pop(random.randrange(len(pieces)))
    pieces.insert(random.randrange(len(pieces) + 1), piece)
    return "".join(pieces)


def _pieces(text: str, random: Random) -> list[str]:
    """Splits a program into its statements, or sometimes into its lines."""
    lines = text.splitlines(keepends=True) or [text]
    return lines if random.random() < 0.2 else _top_level(lines)


def _top_level(lines: Sequence[str]) -> list[str]:
    statements: list[str] = []
    after_decorator = False
    for line in lines:
        if statements and (after_decorator or _CONTINUES.match(line)):
            statements[-1] += line
        else:
            statements.append(line)
        after_decorator = line.startswith("@")
    return statements


def _number_changed(text: str, random: Random) -> str:
    found = list(_NUMBER.finditer(text))
    return _replaced(text, random.choice(found), random.choice(_HUGE)) if found else text


def _name_changed(text: str, random: Random) -> str:
    found = list(_NAME.finditer(text))
    return _replaced(text, random.choice(found), random.choice(found)[0]) if found else text


def _replaced(text: str, old: re.Match[str], new: str) -> str:
    return text[: old.start()] + new + text[old.end() :]


def _wrapped(text: str, random: Random) -> str:
    """Puts the part of a program after the head into a loop, a branch, a function or a class."""
    function = "def run(x=f, *a, **k):"
    heads = (
        function,
        "for f in (f, jax.jit(f), jax.vmap(f, axis_name='i')):",
        "for s in 'ijkl':",
        "while f:",
        "for _ in range(10**9):",
        "if f(1):",
        "with f as f:",
        "class A:",
        "try:",
    )
    if not text.startswith(HEAD) or "\n# ===" in text:
        return text
    body = text.removeprefix(HEAD)
    head = random.choice(heads)
    inside = "".join(f" {line}\n" for line in body.splitlines())
    after = {"try:": "finally:\n f(1)\n", function: " return run(x, *a, a, **k)\nrun(run)\n"}.get(head, "")
    return f"{HEAD}{head}\n{inside}{after}"


def _spliced(text: str, random: Random) -> str:
    other = random.choice(tuple(SEEDS.values())).removeprefix(HEAD)
    return text + other if random.random() < 0.5 else HEAD + other + text.removeprefix(HEAD)


def _interleaved(text: str, random: Random) -> str:
    other = _top_level(random.choice(tuple(SEEDS.values())).removeprefix(HEAD).splitlines(keepends=True))
    pieces = _top_level(text.splitlines(keepends=True))
    for piece in other[: random.randint(1, 12)]:
        pieces.insert(random.randint(min(8, len(pieces)), len(pieces)), piece)
    return "".join(pieces)


def _with_statement(text: str, random: Random) -> str:
    return HEAD + _PREAMBLE + text.removeprefix(HEAD) + _statement(random, 0) + "\n"


_MUTATIONS: Sequence[Callable[[str, Random], str]] = (
    _doubled,
    _doubled,
    _removed,
    _moved,
    _number_changed,
    _number_changed,
    _name_changed,
    _name_changed,
    _wrapped,
    _wrapped,
    _spliced,
    _interleaved,
    _with_statement,
)


def _broken(text: str, random: Random) -> str:
    """Puts a syntax error somewhere into a program."""
    at = random.randrange(len(text))
    match random.randrange(5):
        case 0:
            return text[:at] + random.choice(_STRAY) + text[at:]
        case 1:
            return text[:at] + text[at + random.randint(1, 20) :]
        case 2:
            return text[:at]
        case 3:
            return text.replace(":\n", "\n", random.randint(1, 3))
    return text[:at] + random.choice(_BEGUN) + text[at:]


def _fitted(text: str, random: Random) -> str:
    """Removes statements from the middle of a program until it is small enough."""
    pieces = _top_level(text.splitlines(keepends=True))
    while size("".join(pieces)) > MOST_BYTES and len(pieces) > 2:
        del pieces[random.randrange(min(9, len(pieces) - 2), len(pieces) - 1)]
    whole = "".join(pieces)
    if size(whole) > MOST_BYTES:
        return whole.encode("utf-8", "surrogatepass")[:MOST_BYTES].decode("utf-8", "ignore")
    return whole


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.split("\n# === ")[0])
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
