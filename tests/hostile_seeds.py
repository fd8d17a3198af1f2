"""Small programs of which each asks an abstract interpreter for very much, one for each way to do so.

A line `# === NAME` begins another file of the program; what stands before is `program.py`.
"""

from __future__ import annotations

HEAD = """\
import functools
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P


def f(x):
    return lax.psum(x, "i")


"""


def chain(template: str, count: int, first: int = 1) -> str:
    """Repeats lines, with `{i}` for the number of the copy and `{p}` for the one before."""
    copies = (
        template.replace("{i}", str(number)).replace("{p}", str(number - 1)) for number in range(first, first + count)
    )
    return "".join(f"{copy}\n" for copy in copies)


def nested(openings: str, depth: int, inside: str, indent: str = " ") -> str:
    """Puts statements into each other, with `{i}` for the depth."""
    heads = "".join(f"{indent * level}{openings.replace('{i}', str(level))}\n" for level in range(depth))
    return heads + "".join(f"{indent * depth}{line}\n" for line in inside.splitlines())


def _grown(first: str, step: str, count: int, use: str) -> str:
    return f"{HEAD}a0 = {first}\n{chain(f'a{{i}} = {step}', count)}{use.replace('{n}', f'a{count}')}\n"


def _fun(body: str, use: str = "jax.pmap(g, axis_name='i')(jnp.ones(8))") -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"{HEAD}def g(x, c=None):\n{lines}\n\n{use}\n"


_NAME = "jax.pmap(f, axis_name={n})"
_AXES = "jax.vmap(f, in_axes={n}, out_axes={n}, axis_name='i')(jnp.ones(8))"
_CALL = "jax.pmap({n}, axis_name='i')(jnp.ones(8))"
_SPEC = "jax.shard_map(f, mesh=m, in_specs={n}, out_specs={n})(jnp.ones(8))"
_MESH = "m = Mesh(np.array(jax.devices()).reshape(8), ('i',))\n"
_FLAT = "'i', 'j', 'k', 'l'"

SEEDS: dict[str, str] = {
    # Values that double.
    "strings added": _grown("'i'", "a{p} + a{p}", 60, _NAME),
    "strings multiplied": _grown("'i'", "a{p} * 99", 20, _NAME),
    "f-strings": _grown("'i'", "f'{a{p}}{a{p}}'", 60, _NAME),
    "percent formats": _grown("'i'", "'%s%s' % (a{p}, a{p})", 50, _NAME),
    "format method": _grown("'i'", "'{0}{0}'.format(a{p})", 50, _NAME),
    "replace": _grown("'i'", "a{p}.replace('i', 'ii')", 50, _NAME),
    "join": _grown("'i'", "a{p}.join([a{p}, a{p}])", 40, _NAME),
    "repr of repr": _grown("'\\''", "repr([a{p}, a{p}])", 40, _NAME),
    "split of a product": f"{HEAD}a = ('i,' * 10**9).split(',')\njax.pmap(f, axis_name=a[10**8])\n",
    "padded": f"{HEAD}a = 'i'.ljust(10**10)\nb = f'{{1:>9999999999}}'\nc = '%09999999999d' % 1\njax.pmap(f, axis_name=a + b)\n",
    "bytes": _grown("b'i'", "a{p} + a{p}", 50, "jax.pmap(f, axis_name={n}.decode())"),
    "tuples nested": _grown("('i',)", "(a{p}, a{p})", 60, _AXES),
    "tuples added": _grown("('i',)", "a{p} + a{p}", 60, "lax.psum(1, {n})"),
    "tuples starred": _grown("('i',)", "(*a{p}, *a{p})", 50, "jax.vmap(f, axis_name={n})"),
    "tuples multiplied": _grown("('i',)", "a{p} * 99", 20, "lax.pmean(1, {n})"),
    "lists nested": _grown("[0]", "[a{p}, a{p}, a{p}]", 50, _AXES),
    "dicts nested": _grown("{'x': 0}", "{'l': a{p}, 'r': a{p}}", 45, _AXES),
    "dicts merged": _grown("{'x': f}", "{**a{p}, **{k + 'l': v for k, v in a{p}.items()}}", 25, "jax.pmap({n}['x'])"),
    "dicts of calls": _grown("dict(x=f)", "dict(a{p}, **{k + '{i}': v for k, v in a{p}.items()})", 25, "jax.pmap({n}['x'])"),
    "sets": _grown("frozenset('i')", "frozenset([a{p}, frozenset([a{p}])])", 40, "jax.pmap(f, axis_name={n})"),
    "in_axes as a tree": _grown("0", "(a{p}, {'x': a{p}})", 45, _AXES),
    "sums of tuples": _grown("('i',)", "sum((a{p}, a{p}), ())", 40, "lax.psum(1, {n})"),
    "slices": _grown("('i', 'j')", "a{p}[::-1] + a{p}[:] + tuple(a{p})", 40, "lax.psum(1, {n})"),
    "zips": _grown("('i', 'j')", "tuple(zip(a{p}, a{p}))", 50, "jax.vmap(f, axis_name={n})"),
    "sorted and reversed": _grown("['i']", "sorted(a{p}) + list(reversed(a{p}))", 40, "lax.psum(1, {n})"),
    # Numbers.
    "powers": f"{HEAD}n = 9**9**9**9\njax.pmap(f, axis_name='i', axis_size=n, in_axes=-n, donate_argnums=n % 7)\n",
    "powers in a chain": _grown("7", "a{p} ** a{p}", 30, "jax.pmap(f, in_axes={n})"),
    "products": _grown("7", "a{p} * a{p}", 60, "jax.pmap(f, in_axes={n})"),
    "shifts": f"{HEAD}n = 1 << (1 << 60)\nm = n >> 3\njax.vmap(f, axis_size=n - m, axis_name=str(n))\n",
    "digits": f"{HEAD}n = int('9' * 10**7)\nm = str(n) * 3\njax.pmap(f, axis_name=m, in_axes=len(m))\n",
    "impossible arithmetic": f"{HEAD}a = 1 // 0\nb = 0 ** -1\nc = 1 << -1\nd = 1e308 * 1e308\ne = int(d)\ng = 2.0 ** 99999\nh = 7 % 0\nk = (-8) ** 0.5\nl = divmod(1, 0)\nn = round(d - d)\njax.pmap(f, in_axes=(a, b, c, d, e, g, h, k, l, n), axis_name='i')\n",
    "pow and factorial": f"{HEAD}import math\na = pow(3, 10**10)\nb = math.factorial(10**8)\nc = math.comb(10**9, 10**8)\nd = math.prod([9**9**5] * 9**9)\njax.pmap(f, axis_size=a + b + c + d)\n",
    "hexadecimal": f"{HEAD}n = 0x{'f' * 1500}\njax.pmap(f, axis_name=str(n ** n), axis_size=n)\n",
    "floats of many digits": f"{HEAD}n = 1e999999999\nm = {'9' * 1200}.{'9' * 400}\njax.pmap(f, in_axes=int(n), axis_size=int(m))\n",
    # Ranges and other long iterables.
    "a long range in a list": f"{HEAD}r = list(range(10**12))\njax.pmap(f, donate_argnums=tuple(r), static_broadcasted_argnums=r)\n",
    "a loop over a long range": _fun("for i in range(10**15):\n    x = jax.vmap(f, axis_name='i')(x) + i\nreturn f(x)"),
    "a range of huge numbers": f"{HEAD}r = range(10**100, -10**100, -3)[::-7]\nn = len(r)\nt = tuple(r)\njax.pmap(f, axis_size=n, in_axes=t)\n",
    "a while that counts down": _fun("n = 10**9\nwhile n:\n    n -= 1\n    x = jax.vmap(f, axis_name='i')(x)\nreturn f(x)"),
    "a while that counts in a tuple": _fun("t = (0,) * 16\nwhile t != (1,) * 16:\n    i = t.index(0)\n    t = (0,) * i + (1,) + t[i + 1:]\n    x = jax.vmap(f, axis_name='i')(x)\nreturn f(x)"),
    "products of iterables": f"{HEAD}import itertools\nfor t in itertools.product(range(10), repeat=30):\n    jax.vmap(f, axis_name=str(t))(jnp.ones(8))\nfor p in itertools.permutations('ijklmnopqrst'):\n    jax.vmap(f, axis_name=p)(jnp.ones(8))\nfor c in itertools.cycle('ij'):\n    jax.pmap(f, axis_name=c)(jnp.ones(8))\n",
    "a dict from keys": f"{HEAD}d = dict.fromkeys(range(10**10), f)\ne = {{i: f for i in range(10**10)}}\njax.pmap(d[5], axis_name='i')\njax.pmap(e[10**9], axis_name='i')\n",
    "a list of functions repeated": f"{HEAD}fs = [f] * 10**10\nfor g in fs:\n    jax.pmap(g, axis_name='i')\nlax.switch(3, fs, jnp.ones(8))\n",
    "a comprehension tower": f"{HEAD}s = 'ijklmnopqr'\na = [(b, c, d, e, g, h) for b in s for c in s for d in s for e in s for g in s for h in s for k in s for l in s]\nfor t in a:\n    jax.vmap(f, axis_name=t)\n",
    "comprehensions in each other": _grown("['i', 'j']", "[[y for y in a{p}] for x in a{p}]", 40, "jax.vmap(f, axis_name={n})"),
    "a slice of devices": f"{HEAD}d = jax.devices()[: 10**18] * 10**9\nm = Mesh(np.array(d).reshape((10,) * 9), tuple('abcdefghi'))\njax.shard_map(f, mesh=m, in_specs=P(*m.axis_names), out_specs=P())\n",
    # Loops.
    "nested loops": _fun(nested("for a{i} in (1, 2, 3):", 16, "x = f(x)") + "return x"),
    "nested loops over names": _fun(nested(f"for a{{i}} in ({_FLAT}):", 12, "x = jax.vmap(f, axis_name=a1 + a5)(x)") + "return x"),
    "nested loops over functions": HEAD + nested("for g{i} in (f, jax.jit(f), jax.grad(f)):", 12, "jax.pmap(g0, axis_name='i')(g5(g9(1)))"),
    "nested whiles": _fun(nested("while x < {i}:", 22, "x = f(x)\nx = jax.vmap(f, axis_name='i')(x)") + "return x"),
    "nested ifs": _fun(nested("if x > {i}:", 45, "x = f(x)") + "return x"),
    "nested tries": _fun(nested("try:", 20, "return f(x)") + "".join(f"{' ' * level}finally:\n{' ' * level} x = f(x)\n" for level in reversed(range(20)))),
    "nested withs": _fun(nested("with jax.named_scope('a{i}') as a{i}:", 25, "x = f(x)") + "return x"),
    "nested functions": HEAD + nested("def g{i}(x, y=f):", 28, "return f(x)") + "".join(f"{' ' * level}return g{level}(x)\n" for level in reversed(range(1, 28))) + "jax.pmap(g0, axis_name='i')(1)\n",
    "nested classes": HEAD + nested("class A{i}:", 45, "g = jax.pmap(f, axis_name='i')") + "A0.A1.A2.A3.A4.A5.A6.A7.A8.g(1)\n",
    "loops that grow what they loop over": _fun("fs = [f]\nfor g in fs:\n    fs.append(jax.vmap(g, axis_name='i'))\n    fs += fs\nreturn fs[-1](x)"),
    # Functions.
    "functions composed": _grown("f", "lambda x: a{p}(a{p}(x))", 50, _CALL),
    "functions handed to each other": _grown("f", "lambda h, x=a{p}: x(h) + x(x)", 40, _CALL),
    "partials in a row": _grown("f", "partial(a{p})", 70, _CALL),
    "partials that hold each other": _grown("f", "partial(a{p}, a{p}, k{i}=a{p})", 40, _CALL),
    "vmaps in a row": _grown("f", "jax.vmap(a{p}, axis_name='n{i}')", 40, _CALL),
    "maps of all kinds": _grown("f", "jax.jit(jax.vmap(jax.grad(partial(a{p}))))", 30, _CALL),
    "pmaps in a row": _grown("f", "jax.pmap(a{p}, axis_name='n{i}', in_axes=(0,))", 30, _CALL),
    "functions in a loop": _fun("for i in range(10**6):\n    x = (lambda h, i=i: lambda y: h(h(y)) + i)(c or f)\n    c = x\nreturn c(1)"),
    "decorators": HEAD + "def d(h):\n    @functools.wraps(h)\n    def w(*a, **k):\n        return h(*a, **k) + h(*a, **k)\n    return w\n\n" + "@d\n" * 150 + "def g(x):\n    return f(x)\n\njax.pmap(g, axis_name='i')(1)\n",
    "a fold of functions": f"{HEAD}c = functools.reduce(lambda a, b: lambda x: a(b(a(x))), [f] * 10**6)\njax.pmap(c, axis_name='i')(1)\n",
    "arguments doubled": _fun("return g(x, *(c or ()), *(c or ()), c) if c else f(g(x, (c, c)))"),
    "keywords doubled": f"{HEAD}def g(x, **k):\n    return g(f(x), **k, **{{n + 'i': v for n, v in k.items()}})\n\njax.pmap(g, axis_name='i')(1, a=f, b=g)\n",
    "arguments permuted": f"{HEAD}def g(a, b, c, d, e, h, k, l):\n    f(a)\n    g(b, a, c, d, e, h, k, l)\n    g(b, c, d, e, h, k, l, a)\n    return g(l, k, h, e, d, c, b, a)\n\njax.pmap(g, axis_name='i')(*'abcdefgh')\n",
    # Recursion.
    "recursion with a growing name": _fun("return g(jax.vmap(f, axis_name=c)(x), (c or 'i') + 'i')"),
    "recursion with a growing tuple": _fun("return f(x) + g(x, (c, c)) + g(x, (c,))"),
    "recursion with a growing closure": _fun("return f(x) + g(x, lambda y: (c or f)(y) + g(y, c))"),
    "recursion with a growing partial": _fun("h = partial(c or f, x)\nreturn g(h, partial(h, h))"),
    "fibonacci": f"{HEAD}def fib(n, x):\n    return f(x) if n < 2 else fib(n - 1, x) + fib(n - 2, x)\n\njax.pmap(lambda x: fib(90, x), axis_name='i')(1)\n",
    "ackermann": f"{HEAD}def a(m, n, h):\n    if m == 0:\n        return h(n + 1)\n    if n == 0:\n        return a(m - 1, 1, h)\n    return a(m - 1, a(m, n - 1, h), h)\n\njax.pmap(lambda x: a(4, 4, f), axis_name='i')(1)\n",
    "hanoi": f"{HEAD}def h(n, a, b, c):\n    if n:\n        h(n - 1, a, c, b)\n        jax.vmap(f, axis_name=a + b)(n)\n        h(n - 1, c, b, a)\n\nh(64, 'i', 'j', 'k')\n",
    "collatz and takeuchi": f"{HEAD}def c(n):\n    return f(n) if n == 1 else c(n // 2) if n % 2 == 0 else c(3 * n + 1)\n\ndef t(x, y, z):\n    return f(y) if x <= y else t(t(x - 1, y, z), t(y - 1, z, x), t(z - 1, x, y))\n\njax.pmap(lambda x: c(63728127) + t(24, 16, 8), axis_name='i')(1)\n",
    "a binary counter": f"{HEAD}def g({', '.join(f'b{i}' for i in range(16))}):\n    f(1)\n" + "".join(f"    if not b{i}:\n        return g({', '.join(['0'] * i + ['1'] + [f'b{j}' for j in range(i + 1, 16)])})\n" for i in range(12)) + "\njax.pmap(g, axis_name='i')(*[0] * 16)\n",
    "mutual recursion": HEAD + "".join(f"def m{i}(x, *a):\n    return f(x) + m{(i + 1) % 8}(x, *a, {i}) + m{(i + 3) % 8}(*a, x) + m{(i * 2) % 8}(m{(i + 5) % 8}, x)\n\n" for i in range(8)) + "jax.pmap(m0, axis_name='i')(1)\n",
    "y combinator": f"{HEAD}Y = lambda h: (lambda x: h(lambda *a: x(x)(*a)))(lambda x: h(lambda *a: x(x)(*a)))\nfact = Y(lambda s: lambda n, x: f(x) if n == 0 else s(n - 1, f(x)) * s(n - 1, x))\njax.pmap(lambda x: fact(10**5, x), axis_name='i')(1)\n",
    "omega": f"{HEAD}w = lambda x: f(1) + x(x)(x)(lambda y: x(y)(y))\njax.pmap(lambda y: w(w), axis_name='i')(1)\n",
    "church numerals": f"{HEAD}two = lambda h: lambda x: h(h(x))\nthree = lambda h: lambda x: h(h(h(x)))\nbig = three(three)(three)(two)(two)\njax.pmap(big(f), axis_name='i')(1)\njax.vmap(big(partial(jax.vmap, axis_name='i'))(f))(1)\n",
    "combinators": f"{HEAD}S = lambda x: lambda y: lambda z: x(z)(y(z))\nK = lambda x: lambda y: x\nI = S(K)(K)\nW = S(I)(I)\nB = S(K(S))(K)\nb = S(S)(S)(S(S))(S)(S)(W)(B)(W(W))\njax.pmap(b(f), axis_name='i')(1)\n",
    "trampolines": _fun("def t(h):\n    while callable(h):\n        h = h()\n    return h\ndef e(n):\n    return f(n) if n == 0 else lambda: o(n - 1)\ndef o(n):\n    return f(n) if n == 0 else lambda: e(n - 1)\nreturn t(e(10**7))"),
    "recursion through scan": _fun("return lax.scan(lambda a, b: (g(a, (b, c)), f(b)), x, jnp.arange(9), length=10**12)"),
    "recursion through loops of jax": _fun("h = lambda i, y: lax.cond(y, lambda z: g(z, (h, c)), lambda z: lax.while_loop(lambda q: g(q), lambda q: f(g(q, h)), z), y)\nreturn lax.fori_loop(0, 10**12, h, x)"),
    "recursion through maps": _fun("return jax.pmap(lambda y: jax.vmap(lambda z: g(z, (c, y)), axis_name=str(c))(y), axis_name='i')(x)"),
    "recursion through a registry": f"{HEAD}R = {{}}\ndef reg(n):\n    return lambda h: R.setdefault(n, h)\n\n" + "".join(f"@reg('h{i}')\ndef h{i}(x, k):\n    return f(x) + R[k](x, 'h' + k) + R['h{(i + 1) % 5}'](x, k + k)\n\n" for i in range(5)) + "jax.pmap(partial(R['h0'], k='h1'), axis_name='i')(1)\n",
    "generators": _fun("def w(n, h):\n    yield from w(n - 1, h)\n    yield f(x)\n    yield from w(n - 1, h)\nfor h in w(60, f):\n    x = f((yield h))\nreturn [*w(50, g)]"),
    # Unions grown in branches.
    "a union of tuples": _fun(chain("x = (x, {i}) if c{i} else (x, 'i{i}', x)", 30) + "return f(x)"),
    "a union of names": f"{HEAD}import os\na = 'i'\n" + chain("if os.environ.get('A{i}'):\n    a = a + 'x'\nelse:\n    a = 'y' + a", 25) + "jax.pmap(f, axis_name=a)(1)\n",
    "a union of functions": f"{HEAD}import sys\n" + chain("if sys.argv[{i}]:\n    f = jax.vmap(f, axis_name='v{i}')\nelse:\n    f = jax.pmap(f, axis_name='p{i}')", 18) + "f(jnp.ones(8))\n",
    "a union of axes": _fun(chain("c = (c, 0) if x > {i} else [c, {'k': c}]", 25) + "return jax.vmap(f, in_axes=c, axis_name='i')(x)"),
    "a union of dicts": _fun("d = {}\n" + chain("if x[{i}]: d['k{i}'] = f\nelse: d = {'v{i}': d, **d}", 25) + "return d['k1'](x)"),
    "a union of modules": HEAD + chain("try:\n    import m{i} as m\nexcept ImportError:\n    m = jax if m else lax", 20) + "m.pmap(m.vmap(f))(1)\n",
    "conditions chained": f"{HEAD}a = {' or '.join(f'b{i} and f' for i in range(120))}\njax.pmap(a, axis_name='i')(1)\n",
    "ternaries": f"{HEAD}a = {''.join(f'f if b{i} else (' for i in range(80))}f{')' * 80}\njax.pmap(a, axis_name='i')(1)\n",
    "a match with many cases": _fun("match x:\n" + "".join(f"    case ({i}, *r) | [*r, {i}] if c == {i}:\n        x = (x, f(r))\n" for i in range(25)) + "return g(x)"),
    "functions of an unknown key": f"{HEAD}import sys\nT = {{" + "".join(f"'k{i}': lambda x: T[x](T[sys.argv[{i}]](x)) + f(x), " for i in range(25)) + "}\njax.pmap(T[sys.argv[0]], axis_name='i')(sys.argv[1])\n",
    # Classes.
    "diamonds": HEAD + "class A0:\n    def g(self, x): return f(x)\n" + chain("class L{i}(A{p}):\n    def g(self, x): return super().g(super().g(x))\nclass R{i}(A{p}): g = L{i}.g\nclass A{i}(L{i}, R{i}): pass", 12) + "jax.pmap(A12().g, axis_name='i')(1)\n",
    "a class that inherits itself": f"{HEAD}class A(A, B): g = f\nclass B(A): g = A.g\nclass A(B, A): g = B.g\nclass B(A, B): pass\njax.pmap(B().g, axis_name='i')(A.g)\n",
    "a metaclass": f"{HEAD}class M(type):\n    def __call__(cls, *a): return type(cls)('N', (cls,), {{'g': a[0] if a else cls.g}})(cls)\n    def __getattr__(cls, n): return getattr(cls, n + n)\nclass A(metaclass=M):\n    g = f\njax.pmap(A(A(A(f))).g, axis_name=A.name)(1)\n",
    "attributes without end": f"{HEAD}class A:\n    def __getattr__(self, n): return A() if n else getattr(self, n + 'i')\n    __call__ = __getitem__ = __add__ = __enter__ = lambda self, *a: self\n    def __iter__(self):\n        while True: yield self\na = A()\njax.pmap(a.b.c.d(a)[a] + a, axis_name=a.{'.'.join('bcdefgh' * 80)})\nfor b in a:\n    for c in b: jax.pmap(f, axis_name=c)\n",
    "properties that ask each other": f"{HEAD}class A:\n    @property\n    def a(self): return self.b + self.b\n    @property\n    def b(self): return self.c + self.a\n    @functools.cached_property\n    def c(self): return jax.pmap(f, axis_name=self.a)(self.b)\nA().a\n",
    "descriptors": f"{HEAD}class D:\n    def __init__(self, h): self.h = h\n    def __get__(self, o, t=None): return D(partial(self.h, o.g if o else t.g))\n    def __set__(self, o, v): o.g = v\n    def __set_name__(self, o, n): setattr(o, n + n, D(self))\nclass A:\n    g = D(D(D(f)))\na = A()\na.g = a.g\njax.pmap(a.g, axis_name='i')(1)\n",
    "attributes set in a loop": f"{HEAD}class A:\n    def __init__(self, h): self.h = h\n    def r(self, x):\n        for _ in range(10**6):\n            self.h = jax.vmap(self.h, axis_name='i')\n            self.h = A(self.h).r\n        return self.h(x)\njax.pmap(A(f).r, axis_name='i')(1)\n",
    "objects that hold objects": f"{HEAD}class N:\n    def __init__(self, l, r): self.l, self.r, self.p = l, r, self\n    def g(self, x): return self.l.g(x) + self.r.g(x) + f(x)\na0 = N(None, None)\n{chain('a{i} = N(a{p}, a{p})', 50)}jax.pmap(a50.g, axis_name='i')(1)\n",
    "classes made in a loop": f"{HEAD}A = type('A', (), {{'g': f}})\nfor i in range(10**6):\n    A = type('A' + str(i), (A,), {{'g': A.g, 'h': A}})\njax.pmap(A().g, axis_name='i')(1)\n",
    "methods that return methods": f"{HEAD}class A:\n    def g(self, h): return lambda x: self.g(self.g(h))(x) + A().g(self.g)(h(x))\n    def __call__(self, *a): return self.g(self)(*a)\njax.pmap(A().g(f), axis_name='i')(1)\n",
    # Maps, meshes and specs.
    "specs doubled": HEAD + _MESH + f"a0 = P('i')\n{chain('a{i} = P(*a{p}, *a{p})', 45)}" + _SPEC.replace("{n}", "a45"),
    "specs nested": HEAD + _MESH + f"a0 = P('i')\n{chain('a{i} = (P((a{p}, a{p})), a{p})', 45)}" + _SPEC.replace("{n}", "a45"),
    "a mesh of many axes": f"{HEAD}n = tuple('ijkl') * 10**8\nm = Mesh(np.array(jax.devices()).reshape((1,) * 10**9), n)\njax.shard_map(f, mesh=m, in_specs=P(*n), out_specs=P(n))\n",
    "meshes of large arrays": f"{HEAD}a = np.arange(10**12).reshape((10,) * 12)\nb = np.tile(np.zeros((10**6, 10**6)), (9, 9))\nc = np.repeat(np.array(jax.devices()), 10**10)\nfor d in (a, b, c, np.broadcast_to(a, (2,) * 99)):\n    m = Mesh(d, tuple('ijklmnopqrst'))\n    jax.shard_map(f, mesh=m, in_specs=P('i'), out_specs=P('j'))\n",
    "make_mesh with huge sizes": f"{HEAD}m = jax.make_mesh((10**99, 2**9999) * 999, ('i', 'j') * 999)\njax.set_mesh(m)\njax.shard_map(f, mesh=m, in_specs=P(*m.axis_names), out_specs=P(m.shape))\n",
    "axis names doubled": HEAD + f"a0 = ('i',)\n{chain('a{i} = (*a{p}, *[n + str({i}) for n in a{p}])', 22)}m = Mesh(np.array(jax.devices()), a22)\njax.shard_map(f, mesh=m, in_specs=P(a22), out_specs=P(*a22))\n",
    "axes of every kind": f"{HEAD}for n in (1, -1, 1.5, None, ..., (), [], {{}}, f, jax, b'i', 1j, True, object(), 'i' * 10**9, ('i',) * 10**9, ((((), 'i'),),), lambda: n):\n    jax.pmap(f, axis_name=n, axis_size=n, in_axes=n, devices=n, static_broadcasted_argnums=n, donate_argnums=n)(n)\n    lax.psum(n, n)\n    jax.make_mesh(n, n)\n    P(n, *n, n)\n",
    "permutations": f"{HEAD}def g(x):\n    n = 10**9\n    y = lax.ppermute(x, 'i', [(i, (i + 1) % n) for i in range(n)])\n    return lax.psum(y, 'i', axis_index_groups=[[i] * n for i in range(n)])\n\njax.pmap(g, axis_name='i')(1)\n",
    "shapes": _fun("a = jnp.zeros((10**9,) * 10**6)\nb = a.reshape((2,) * 10**7)[None, ..., ::3]\nc = jnp.concatenate([b] * 10**8)\nd = jnp.stack([c] * 10**9, axis=10**12)\nk = jax.random.split(jax.random.PRNGKey(0), 10**10)\np, *q = k\nreturn f(d + c + b.T.T.T + p)"),
    "trees": f"{HEAD}t = {{'x': f}}\nfor i in range(99):\n    t = {{'l': t, 'r': [t, t], 'i': t}}\nu = jax.tree_util.tree_map(lambda v: jax.pmap(v, axis_name='i'), t)\nl, d = jax.tree_util.tree_flatten(u)\njax.tree.map(f, u, t, jax.tree.unflatten(d, l))\n",
    "an environment of flags": f"{HEAD}import os\nos.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=' + '9' * 10**9\njax.config.update('jax_num_cpu_devices', 10**10**10)\njax.pmap(f, axis_name='i')(jnp.ones(jax.device_count()))\n",
    # Syntax.
    "parentheses": f"{HEAD}a = {'(' * 800}f{')' * 800}\njax.pmap(a, axis_name='i')(1)\n",
    "brackets": f"{HEAD}a = {'[' * 800}f{']' * 800}\njax.pmap(a{'[0]' * 30}, axis_name='i')(1)\n",
    "brackets that never close": f"{HEAD}a = {'[({' * 500}\njax.pmap(a, axis_name='i')(1)\n",
    "calls in each other": f"{HEAD}jax.pmap({'f(' * 550}1{')' * 550}, axis_name='i')\n",
    "calls in a row": f"{HEAD}jax.pmap(f, axis_name='i'){'(f)' * 550}\n",
    "vmaps in each other": f"{HEAD}{'jax.vmap(' * 170}f{')' * 170}(1)\n",
    "attributes in a row": f"{HEAD}jax{'.a' * 850}.pmap(f)\n",
    "operators in a row": f"{HEAD}a = {'-~+' * 200}1{'+1' * 250} {'** 2' * 60}\nb = {'not ' * 100}f\njax.pmap(b, in_axes=a)\n",
    "lambdas in each other": f"{HEAD}a = {'lambda: ' * 200}f\njax.pmap(a{'()' * 80}, axis_name='i')(1)\n",
    "starred targets": f"{HEAD}{'(a, *b, ' * 160}c{')' * 160} = f\n{'x = ' * 60}(f,) * 10**9\n(*a, b, c), *d = x\njax.pmap(d[-1], axis_name='i')(1)\n",
    "strings side by side": f"{HEAD}a = {chr(39) + 'i' + chr(39) + ' '}" + "'i' " * 400 + "\njax.pmap(f, axis_name=a)\n",
    "f-strings in each other": HEAD + "a = " + "f'{f\"{" * 60 + "f" + "}\"}'" * 60 + "\njax.pmap(f, axis_name=a)\n",
    "errors everywhere": f"{HEAD}{'def (:\n' * 60}{'class [\n' * 40}@\n{'if (\n' * 30}jax.pmap(f, axis_name='i'\nreturn )\n",
    "an error in each function": HEAD + chain("def g{i}(x:\n  return f(x\n @g{p}", 40) + "jax.pmap(g1, axis_name='i')(1)\n",
    "open strings": HEAD + "a = '''\n\"\"\"\n'''\nb = \"\"\"'''" + "\\\n" * 200 + "jax.pmap(f, axis_name='i\n",
    "odd characters": f"{HEAD}a = '\\N{{BULLET}}\\ud800\\x00\\777'\nå\u0301 = a\n\x0cdef \u2028 g(x):\n\t \treturn f(x)\n\x00jax.pmap(f, axis_name='\u202e')\nif 1:\n\tjax.pmap(f)\n        lax.psum(1, 'i')\n",
    # Names.
    "globals": f"{HEAD}def g():\n    global f, g\n    f = jax.vmap(f, axis_name='i')\n    g = lambda: (f, g, g)\n    globals()['f'] = globals()['g']\n    globals().update({{k + 'i': v for k, v in globals().items()}})\n    return g()\nfor _ in range(10**9):\n    jax.pmap(g()[0], axis_name='i')(g)\n    vars()['f'] = locals\n    del f\n",
    "nonlocals": _fun("h = f\ndef a():\n    nonlocal h\n    def b():\n        nonlocal h\n        h = partial(h, a, b)\n        return a() + b()\n    h = lambda *y: b() + a() + h(*y)\n    return b()\na()\nreturn h(x)"),
    "walruses": f"{HEAD}a = [(b := (b, c := [d := f, b, d], c)) for _ in range(10**9) if (f := jax.vmap(f, axis_name='i'))]\nwhile (n := (n, n)) and (f := partial(f, f)): jax.pmap(f, axis_name='i')(n)\n",
    "setattr and getattr": f"{HEAD}class A: pass\nfor a in range(99):\n    setattr(A, 'g' + 'g' * a, getattr(A, 'g' * a, f))\n    setattr(jax, 'pmap', partial(getattr(jax, 'pmap'), getattr(lax, 'p' + 'sum')))\n    exec('f = ' + 'jax.vmap(' * a + 'f' + ')' * a)\n    f = eval('f' * a)\njax.pmap(A.g, axis_name='i')(1)\n",
    "annotations": f"{HEAD}from typing import *\nT = Tuple['T', 'T']\ntype U = tuple[U, U, 'V']\ndef g(x: {'Tuple[List[' * 60}int{']]' * 60}, y: '{'T[' * 300}' = f, *z: *T) -> 'g(f(g))':\n    a: P(*a, *a) = jax.pmap(y, axis_name='i')\n    return a\ndef h[T: (U, h), *V](x: T) -> V: return g(h, h)\n",
    "dataclasses": f"{HEAD}from dataclasses import *\n@dataclass\nclass C:\n    a: 'C' = field(default_factory=lambda: C(C()))\n    h: object = f\n    def __post_init__(self): self.h = replace(self, h=self.h, a=replace(self.a)).h\nc = C()\nfor _ in range(10**5): c = replace(c, a=c, h=jax.vmap(c.h, axis_name='i'))\njax.pmap(c.a.a.h, axis_name='i')(1)\n",
    "objects that hold themselves": f"{HEAD}a = [f]\na.append(a)\na[0] = a\nd = {{'d': a}}\nd['e'] = d\na += [d, a]\nd.update(d, f=d)\nclass A: pass\nA.a = A\no = A()\no.o = o\no.d = d\njax.vmap(f, in_axes=a, out_axes=d, axis_name=o.o.o.d['e']['e'])(a)\nprint(a == a, d == d, {{str(a): repr(d)}}, sorted(a), a < a)\n",
    # Files.
    "files that import each other": "from b import *\nfrom b import g as h, x\nimport c, b.c.d\nfrom c import y\nimport jax\njax.pmap(h, axis_name=x + y)(1)\nx = x + y\ndef f(z): return h(z) + c.f(b.f(z))\n# === b.py\nfrom program import *\nfrom program import f as g, x as y\nfrom c import *\nx = y + y\ndef f(z): return g(z)\n# === c.py\nfrom b import *\nfrom program import *\nimport c, c as d\nfrom c import y\nfrom d import d\ny = x + x\ndef f(z): return c.f(d.f(z))\n__all__ = ['x', *__all__, *c.__all__] * 10**9\n",
    "a module in itself": f"{HEAD}import program\nfrom program import program as q, f as h\nfrom . import program as r\nfrom .. import {', '.join('r' + str(i) for i in range(60))}\nfrom ....... import *\nimport {'.'.join(['program'] * 60)}\nprogram.program.program.h = q.q.f\njax.pmap(program.q.program.h, axis_name='i')(r.r.r)\n",
    "packages": "import a.a.a.a\nfrom a import a as b\nimport jax\njax.pmap(a.a.a.f, axis_name=b.b.b.x)(1)\n# === a/__init__.py\nfrom . import a\nfrom .a import *\nfrom a.a import a, f\nfrom .a.a import x\nimport a\n# === a/a/__init__.py\nfrom .. import a as b, f\nfrom . import a\nfrom .a import *\nx = b.x + a.x\n# === a/a/a.py\nfrom jax.lax import psum\nfrom ... import a\nfrom .. import a as b\nx = (a, b)\ndef f(y): return psum(y, a.x) + b.f(y)\ndef __getattr__(n): return a.b\n",
    "a chain of names through files": f"{HEAD}{chain('from b import x{i} as x{p}', 20, 2)}jax.pmap(f, axis_name=x1)\n# === b.py\n{chain('from program import x{i} as x{p}', 20, 2)}x21 = 'i'\nfrom importlib import import_module as m\na = m('b').m(__name__)\n",
}
