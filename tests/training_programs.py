"""Writes training programs for one device, the same for the same seed, in the styles in which people write them.

The ingredients of each are drawn at random: a library, a loss, an optimizer, how a batch is held, what is random, what
a step returns, how it is compiled, where its code is and how its files import.
A program prints its numbers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

_MODELS = ("plain", "layers", "linen", "train state", "nnx", "equinox", "haiku")


@dataclass(frozen=True)
class Choices:
    """The ingredients of a program; a row of `_OPTIONS` lists the alternatives for each field."""

    model: str
    loss: str
    optimizer: str
    layout: str
    keys: str
    metrics: str
    norm: str
    extras: str
    jit: str
    place: str
    imports: str
    loop: str
    evaluation: str
    rebound: str
    data: str
    rows: str
    call: str
    inputs: str
    layer: str

    @property
    def is_ragged(self) -> bool:
        """Returns true if the size of a batch is not divisible by eight devices."""
        return self.data == "ragged"


_COUPLED = {
    "contrastive": [
        "logits = pred[:, None] * y[None, :]",
        "own = jnp.diagonal(jax.nn.log_softmax(logits, axis=1))",
        "loss = jnp.mean(errors) - 0.1 * jnp.mean(own)",
    ],
    "matched": [
        "logits = pred[:, None] @ y[:, None].T",
        "labels = jnp.arange(logits.shape[0])",
        "loss = jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))",
    ],
    "outer": ["loss = jnp.mean(errors) + jnp.mean(jnp.outer(pred, y) ** 2)"],
    "top": ["loss = jax.lax.top_k(errors, 4)[0].mean()"],
    "trimmed": ["loss = jnp.mean(jnp.sort(errors)[:-2])"],
    "where of mean": ["loss = jnp.mean(jnp.where(errors.mean() > 0.5, errors, 2 * errors))"],
    "cond of mean": ["loss = jax.lax.cond(errors.mean() > 0.5, lambda e: e.mean(), lambda e: 2 * e.mean(), errors)"],
    "advantages": [
        "advantage = (y - y.mean()) / (y.std() + 1e-3)",
        "loss = jnp.mean(errors) - 0.1 * jnp.mean(advantage * jnp.tanh(pred))",
    ],
    "listwise": ["loss = jnp.mean(errors) - jnp.mean(jax.nn.log_softmax(pred) * y)"],
    "segments": ["loss = jnp.max(jax.ops.segment_sum(errors, (y > 0).astype(jnp.int32), 2)) / len(y)"],
    "groups": [
        "group = jax.nn.one_hot((y > 0).astype(jnp.int32), 2)",
        "loss = jnp.mean((group.T @ errors) / (group.sum(axis=0) + 1.0))",
    ],
    "median": ["loss = jnp.mean(jnp.minimum(errors, 2 * jnp.median(errors)))"],
    "covariance": ["loss = jnp.mean(errors) - 0.1 * jnp.cov(pred, y)[0, 1]"],
    "neighbours": ["loss = jnp.mean(errors) + 0.1 * jnp.mean(jnp.diff(pred) ** 2)"],
    "ranks": ["loss = jnp.mean(errors * jnp.argsort(jnp.argsort(errors))) / len(errors)"],
    "mix": ["loss = jnp.mean(errors) + 0.1 * jnp.mean((pred - y[::-1]) ** 2)"],
    "einsum": ['loss = jnp.mean(errors) + 0.01 * jnp.einsum("i,j->", pred, y)'],
    "sum of squares": ["loss = jnp.mean(errors) + 0.01 * jnp.sum(errors) ** 2"],
    "product": ["loss = jnp.mean(errors) * jnp.mean(jnp.abs(pred))"],
    "ratio": ["loss = jnp.sum(errors) / (1.0 + jnp.sum(y**2))"],
    "quantile": ["loss = jnp.mean(jnp.where(errors > jnp.quantile(errors, 0.8), 0.0, errors))"],
    "reshaped": ["loss = jnp.mean(errors.reshape(-1, 2).max(axis=1))"],
    "scattered": ["loss = jnp.max(jnp.zeros(2).at[(y > 0).astype(jnp.int32)].add(errors)) / len(y)"],
    "softmax weights": ["loss = jnp.sum(jax.nn.softmax(errors) * errors)"],
    "norm of rows": ["loss = jnp.mean(errors) + 0.1 * jnp.linalg.norm(pred - y)"],
    "own weights": ["share = jnp.exp(-errors)", "loss = jnp.mean(share * errors) / jnp.mean(share)"],
    "huber": ["loss = jnp.mean(jnp.where(errors > 1.0, 2 * jnp.sqrt(errors) - 1.0, errors))"],
    "unrolled": ["loss = jax.lax.fori_loop(0, 3, lambda i, e: e * 0.9, errors).mean()"],
    "mapped rows": ["loss = jnp.mean(jax.lax.map(lambda pair: (pair[0] - pair[1]) ** 2, (pred, y)))"],
}
"""Losses that mix rows, and some that only seem to."""

_INPUTS = {
    "standardized": ["x = (x - x.mean(axis=AXIS, keepdims=True)) / (x.std(axis=AXIS, keepdims=True) + 1e-3)"],
    "of each row": ["x = x / (1e-3 + jnp.linalg.norm(x, axis=OTHER, keepdims=True))"],
    "mixed up": ["x = 0.7 * x + 0.3 * jnp.flip(x, axis=AXIS)"],
    "by the largest": ["x = x / jnp.max(jnp.abs(x))"],
    "clipped": ["x = jnp.clip(x, -1.5, 1.5)"],
}
"""The lines by which a loss transforms its inputs first; AXIS is the rows' axis."""

_LAYERS = {
    "attention over rows": "jax.nn.softmax(X @ X.T / 3.0) @ X",
    "attention by einsum": 'jnp.einsum("if,jf,jg->ig", X, X, X) / 48.0',
    "centered": "X - X.mean(axis=0)",
    "weighted by softmax": "X * jax.nn.softmax(X, axis=0)",
    "with its neighbour": "X + 0.5 * jnp.roll(X, 1, axis=0)",
    "running": "jnp.cumsum(X, axis=0) / X.shape[0]",
    "without the first": "X - X[0]",
    "in order": "jnp.sort(X, axis=0)",
    "by the largest": "X / (1.0 + jnp.max(jnp.abs(X)))",
    "by its norm": "X / (1.0 + jnp.linalg.norm(X, axis=-1, keepdims=True))",
    "softmax of features": "X * jax.nn.softmax(X)",
    "features turned": "X + 0.5 * jnp.flip(X, axis=-1)",
}
"""A model's transformation of its hidden layer X; the last three treat each row separately."""

_OPTIONS: dict[str, tuple[str, ...]] = {
    "model": _MODELS,
    "loss": (
        "mean", "mean", "mean of vmap", "sum", "sum over rows", "sum over constant", "masked", "masked max",
        "weighted", "average", "regularized", "regularized sum", "root", "cross entropy", "of the batch", "pairs",
        "l2", "first axis", "size", "dot", "by place", "first half", "running", "log of mean", "largest", "spread",
        "scan", *_COUPLED,
    ),
    "optimizer": ("by hand", "by hand", "sgd", "momentum", "adam", "clip", "schedule", "per example", "norm"),
    "layout": ("tuple", "dict", "named tuple", "dataclass", "two", "two", "axis 1"),
    "keys": ("none", "none", "none", "noise", "dropout", "carried", "fold_in"),
    "metrics": ("none", "loss", "loss", "dict", "aux", "rows", "count", "worst", "place of the worst", "ranks", "table",
                "spread", "largest three"),
    "norm": ("none", "none", "none", "norm"),
    "extras": ("none", "none", "none", "ema", "counter", "microbatches", "scan", "static", "default",
               "running"),
    "jit": ("decorator", "decorator", "partial", "call", "donate", "none", "of a lambda"),
    "place": ("module", "module", "main", "nested", "class", "files"),
    "imports": ("modules", "modules", "names", "numpy as np", "random as jr", "late"),
    "loop": ("slices", "slices", "batches", "whole", "epochs", "zip", "while"),
    "evaluation": ("none", "loss", "accuracy", "predict", "both", "count", "centered", "best", "order"),
    "rebound": ("none", "none", "none", "grad in a branch", "batch in a branch", "loss in a branch", "flag"),
    "data": ("48", "48", "64", "ragged"),
    "rows": ("16", "16", "8"),
    "call": ("places", "places", "places", "keywords", "handed on"),
    "inputs": ("as they are", "as they are", "as they are", *_INPUTS),
    "layer": (*["as it is"] * 2 * len(_LAYERS), *_LAYERS),
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A program, and which of its functions may run on several devices.

    Attributes:
        choices: the ingredients of the program.
        files: the text of each file, by name; the last file is the one to run.
        functions: the functions to convert, as `file::function`, the step first.
        draws: whether a map makes it draw new random numbers.
    """

    choices: Choices
    files: dict[str, str]
    functions: tuple[str, ...]
    draws: bool


def choices_of(seed: int) -> Choices:
    """Draws the ingredients of a program."""
    drawn = random.Random(seed)
    return _fitting(Choices(**{field.name: drawn.choice(_OPTIONS[field.name]) for field in fields(Choices)}))


def _fitting(some: Choices) -> Choices:
    """Changes ingredients that do not go together."""
    if some.extras in ("default", "running") and (
        some.model in ("train state", "nnx", "equinox") or some.call != "places"
    ):
        some = replace(some, extras="none")
    if some.extras == "running" and some.optimizer == "per example":
        some = replace(some, extras="none")
    if some.inputs != "as they are" and some.optimizer == "per example":
        some = replace(some, inputs="as they are")
    if some.model == "equinox" and some.layer.startswith("attention"):
        some = replace(some, layer="as it is")
    if some.loss == "reshaped" and some.data == "ragged":
        some = replace(some, data="48")
    if some.norm == "norm" and some.model not in ("linen", "train state", "nnx", "haiku"):
        some = replace(some, norm="none")
    if some.keys == "dropout" and some.model in ("plain", "layers"):
        some = replace(some, keys="noise")
    if some.norm == "norm" and some.model == "haiku" and some.keys == "dropout":
        some = replace(some, keys="none")
    if some.optimizer == "per example" and (
        some.model not in ("plain", "layers", "linen", "equinox") or some.norm == "norm" or some.keys != "none"
    ):
        some = replace(some, optimizer="sgd")
    if some.optimizer == "per example":
        some = replace(some, loss="mean", metrics="none", layout="two", rebound="none", extras="none")
    if some.norm == "norm" and some.optimizer == "adam":
        some = replace(some, optimizer="momentum")
    if some.model == "nnx" and some.optimizer == "by hand":
        some = replace(some, optimizer="sgd")
    if some.model in ("nnx", "train state", "equinox") and some.extras in ("scan", "microbatches"):
        some = replace(some, extras="ema" if some.model == "train state" else "none")
    if some.model in ("nnx", "equinox") and some.extras == "ema":
        some = replace(some, extras="counter")
    if some.extras in ("scan", "microbatches") and (some.norm == "norm" or some.keys != "none"):
        some = replace(some, norm="none", keys="none")
    if some.extras in ("scan", "microbatches"):
        some = replace(some, layout="two", rebound="none", metrics="loss", loop="whole", data="48")
        if some.loss in ("masked", "masked max", "weighted", "average"):
            some = replace(some, loss="mean")
    if some.extras == "scan" and some.place == "class":
        some = replace(some, place="main")
    if some.model == "nnx" and some.jit in ("donate", "of a lambda"):
        some = replace(some, jit="decorator")
    if some.model == "equinox" and some.jit in ("donate", "partial", "of a lambda"):
        some = replace(some, jit="decorator")
    if some.extras == "static" and some.jit in ("donate", "of a lambda", "none"):
        some = replace(some, jit="partial" if some.model not in ("nnx", "equinox") else "decorator")
    if some.model in ("nnx", "equinox") and some.extras == "static":
        some = replace(some, extras="none")
    if some.loop == "zip" and some.layout not in ("two", "tuple"):
        some = replace(some, loop="slices")
    if some.loss == "sum over constant" and some.data == "ragged":
        some = replace(some, data="64")
    if some.loop in ("whole", "zip") and some.loss == "sum over constant":
        some = replace(some, loop="slices")
    if some.rebound == "grad in a branch" and some.model in ("nnx",):
        some = replace(some, rebound="none")
    return some


def program(seed: int) -> Program:
    """Returns the program of a seed."""
    return _Writer(choices_of(seed), random.Random(seed + 1)).program()


def program_of(some: Choices, seed: int = 0) -> Program:
    """Returns a program with these ingredients, or with others where they do not go together."""
    return _Writer(_fitting(some), random.Random(seed + 1)).program()


class _Writer:
    """Assembles a program from its ingredients."""

    def __init__(self, some: Choices, drawn: random.Random) -> None:
        self.some = some
        self.size = some.rows
        self.rate = drawn.choice(("0.1", "rate=0.1"))
        if some.jit == "of a lambda":
            # The lambda takes positional arguments only.
            self.rate = "0.1"
        self.step = drawn.choice(("step", "train_step", "update"))
        self.batch = drawn.choice(("batch", "data"))
        self.params = "model" if some.model in ("equinox", "nnx") else drawn.choice(("params", "params", "weights"))
        self.draws = some.keys != "none"
        self.has_mask = some.loss in ("masked", "masked max")
        self.has_weight = some.loss in ("weighted", "average")
        self.classes = some.loss == "cross entropy"
        self.names = ["x", "y", *(["m"] if self.has_mask else []), *(["w"] if self.has_weight else [])]
        self.optax = some.optimizer not in ("by hand", "norm", "per example") or some.model in ("train state", "nnx")
        if some.model == "equinox" and some.optimizer != "per example":
            self.optax = self.optax or some.optimizer == "norm"
        self.has_stats = some.norm == "norm" and some.model != "nnx"

    # The model

    def hidden(self, name: str, indent: str) -> list[str]:
        """Returns the lines that transform the hidden layer."""
        made = _LAYERS.get(self.some.layer)
        return [f"{indent}{name} = {made.replace('X', name)}"] if made else []

    def model(self) -> list[str]:
        out = 3 if self.classes else 1
        last = "" if self.classes else "[..., 0]"
        some = self.some
        if some.model == "plain":
            return [
                "def init_params(key):",
                "    first, second = jax.random.split(key)",
                "    return {",
                '        "w1": 0.5 * jax.random.normal(first, (4, 8)),',
                '        "b1": jnp.zeros(8),',
                f'        "w2": 0.5 * jax.random.normal(second, (8, {out})),',
                "    }",
                "",
                "",
                f"def predict({self.params}, x):",
                f'    hidden = jnp.tanh(x @ {self.params}["w1"] + {self.params}["b1"])',
                *self.hidden("hidden", "    "),
                f'    return (hidden @ {self.params}["w2"]){last}',
            ]
        if some.model == "layers":
            return [
                "def init_params(key, sizes):",
                "    keys = jax.random.split(key, len(sizes))",
                "    return [",
                "        (0.5 * jax.random.normal(k, (m, n)), jnp.zeros(n)) "
                "for k, m, n in zip(keys, sizes[:-1], sizes[1:])",
                "    ]",
                "",
                "",
                f"def predict({self.params}, x):",
                f"    for w, b in {self.params}[:-1]:",
                "        x = jnp.tanh(jnp.dot(x, w) + b)",
                *self.hidden("x", "    "),
                f"    w, b = {self.params}[-1]",
                f"    return (jnp.dot(x, w) + b){last}",
            ]
        if some.model in ("linen", "train state"):
            norm = (
                ["        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)"] if self.has_stats else []
            )
            drop = ["        x = nn.Dropout(0.25, deterministic=not train)(x)"] if some.keys == "dropout" else []
            train = ", train: bool = True" if norm or drop else ""
            return [
                "class Net(nn.Module):",
                "    @nn.compact",
                f"    def __call__(self, x{train}):",
                "        x = nn.Dense(8)(x)",
                *norm,
                "        x = nn.tanh(x)",
                *self.hidden("x", "        "),
                *drop,
                f"        return nn.Dense({out})(x){last}",
            ]
        if some.model == "nnx":
            norm = ["        x = self.norm(x)"] if some.norm == "norm" else []
            drop = ["        x = self.dropout(x)"] if some.keys == "dropout" else []
            return [
                "class Net(nnx.Module):",
                "    def __init__(self, rngs: nnx.Rngs):",
                "        self.first = nnx.Linear(4, 8, rngs=rngs)",
                *(["        self.norm = nnx.BatchNorm(8, rngs=rngs)"] if norm else []),
                *(["        self.dropout = nnx.Dropout(0.25, rngs=rngs)"] if drop else []),
                f"        self.last = nnx.Linear(8, {out}, rngs=rngs)",
                "",
                "    def __call__(self, x):",
                "        x = self.first(x)",
                *norm,
                "        x = nnx.tanh(x)",
                *self.hidden("x", "        "),
                *drop,
                f"        return self.last(x){last}",
            ]
        if some.model == "equinox":
            drop = some.keys == "dropout"
            return [
                "class Net(eqx.Module):",
                "    first: eqx.nn.Linear",
                "    last: eqx.nn.Linear",
                *(["    dropout: eqx.nn.Dropout"] if drop else []),
                "",
                "    def __init__(self, key):",
                "        first, last = jax.random.split(key)",
                "        self.first = eqx.nn.Linear(4, 8, key=first)",
                f"        self.last = eqx.nn.Linear(8, {out}, key=last)",
                *(["        self.dropout = eqx.nn.Dropout(0.25)"] if drop else []),
                "",
                f"    def __call__(self, x{', key=None' if drop else ''}):",
                "        x = jnp.tanh(self.first(x))",
                *self.hidden("x", "        "),
                *(["        x = self.dropout(x, key=key, inference=key is None)"] if drop else []),
                f"        return self.last(x){last}",
            ]
        norm = self.has_stats
        drop = ["    x = hk.dropout(hk.next_rng_key(), 0.25, x) if train else x"] if some.keys == "dropout" else []
        train = ", train=True" if norm or drop else ""
        return [
            f"def forward(x{train}):",
            "    x = hk.Linear(8)(x)",
            *(["    x = hk.BatchNorm(True, True, 0.9)(x, is_training=train)"] if norm else []),
            "    x = jnp.tanh(x)",
            *self.hidden("x", "    "),
            *drop,
            f"    return hk.Linear({out})(x){last}",
        ]

    def built(self) -> list[str]:
        """Returns the lines that build the objects that loss and step read."""
        some = self.some
        lines = []
        if some.model in ("linen", "train state"):
            lines.append("net = Net()")
        if some.model == "haiku":
            made = "hk.transform_with_state(forward)" if self.has_stats else "hk.transform(forward)"
            lines.append(f"net = {made if some.keys == 'dropout' else f'hk.without_apply_rng({made})'}")
        if self.optax:
            lines += self.optimizer()
        return lines

    def optimizer(self) -> list[str]:
        kind = self.some.optimizer
        made = {
            "momentum": "optax.sgd(0.05, momentum=0.9)",
            "adam": "optax.adam(1e-2, eps=1e-3)",
            "clip": "optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1))",
            "schedule": "optax.sgd(optax.exponential_decay(0.1, 2, 0.5))",
        }.get(kind, "optax.sgd(0.05)")
        return [f"optimizer = {made}"]

    def initial(self) -> list[str]:
        """Returns the lines that set up the state in which training begins."""
        some = self.some
        key = "jax.random.key(0)" if some.keys == "carried" else "jax.random.PRNGKey(0)"
        p = self.params
        out = 3 if self.classes else 1
        if some.model == "plain":
            lines = [f"{p} = init_params({key})"]
        elif some.model == "layers":
            lines = [f"{p} = init_params({key}, [4, 8, {out}])"]
        elif some.model == "equinox":
            lines = [f"model = Net({key})"]
        elif some.model == "nnx":
            lines = ["model = Net(nnx.Rngs(0))"]
        elif some.model == "haiku":
            made = f"net.init({key}, jnp.ones((1, 4)))"
            lines = [f"{p}, stats = {made}" if self.has_stats else f"{p} = {made}"]
        else:
            train = ", train=False" if self.has_stats or some.keys == "dropout" else ""
            lines = [f"variables = net.init({key}, jnp.ones((1, 4)){train})", f'{p} = variables["params"]']
            if self.has_stats:
                lines.append('stats = variables["batch_stats"]')
        if some.model == "train state":
            return [*lines, f"state = train_state.TrainState.create(apply_fn=net.apply, params={p}, tx=optimizer)"]
        if some.model == "nnx":
            return [*lines, "optimizer = nnx.Optimizer(model, " + self.optimizer()[0][12:] + ", wrt=nnx.Param)"]
        if self.optax:
            of = "eqx.filter(model, eqx.is_array)" if some.model == "equinox" else p
            lines.append(f"opt_state = optimizer.init({of})")
        if some.extras == "ema":
            lines.append(f"average = jax.tree.map(jnp.copy, {p})" if some.jit == "donate" else f"average = {p}")
        return lines

    # The loss

    def applied(self, params: str, x: str, *, train: bool = True) -> str:
        some = self.some
        key = some.keys == "dropout" and train
        if some.model in ("plain", "layers"):
            return f"predict({params}, {x})"
        if some.model == "nnx":
            return f"{params}({x})"
        if some.model == "equinox":
            if key:
                return f"jax.vmap({params})({x}, jax.random.split(key, {x}.shape[0]))"
            return f"jax.vmap({params})({x})"
        flag = ""
        if self.has_stats or some.keys == "dropout":
            flag = f", train={train}"
        if some.model == "haiku":
            stats = ", stats" if self.has_stats else ""
            given = ", key" if key else ", None" if some.keys == "dropout" else ""
            return f"net.apply({params}{stats}{given}, {x}{flag})"
        variables = f'{{"params": {params}, "batch_stats": stats}}' if self.has_stats else f'{{"params": {params}}}'
        rngs = ', rngs={"dropout": key}' if key else ""
        mutable = ', mutable=["batch_stats"]' if self.has_stats and train else ""
        return f"net.apply({variables}, {x}{flag}{rngs}{mutable})"

    def given(self) -> list[str]:
        """Returns the parameters that hold the batch."""
        return list(self.names) if self.some.layout in ("two", "axis 1") else [self.batch]

    def unpacked(self) -> list[str]:
        some, b = self.some, self.batch
        if some.layout == "tuple":
            return [f"{', '.join(self.names)} = {b}"]
        if some.layout == "dict":
            return [f'{name} = {b}["{name}"]' for name in self.names]
        if some.layout in ("named tuple", "dataclass"):
            return [f"{name} = {b}.{name}" for name in self.names]
        return []

    def extra_given(self) -> list[str]:
        """Returns the parameters of a loss besides the model's parameters and the batch."""
        return [*(["stats"] if self.has_stats else []), *(["key"] if self.draws and not self.is_nnx_dropout else [])]

    @property
    def is_nnx_dropout(self) -> bool:
        return self.some.model == "nnx" and self.some.keys == "dropout"

    def loss(self) -> list[str]:
        some, p = self.some, self.params
        x = "x.T" if some.layout == "axis 1" else "x"
        lines = self.unpacked()
        if some.keys in ("noise", "carried", "fold_in"):
            lines.append("x = x + 0.1 * jax.random.normal(key, x.shape)")
        rows, features = ("1", "0") if some.layout == "axis 1" else ("0", "-1")
        lines += [one.replace("AXIS", rows).replace("OTHER", features) for one in _INPUTS.get(some.inputs, [])]
        called = self.applied(p, x)
        if self.has_stats:
            lines.append(f"pred, {'updates' if some.model != 'haiku' else 'stats'} = {called}")
        else:
            lines.append(f"pred = {called}")
        lines += self.reduced()
        returned = "loss"
        if self.aux:
            returned = f"loss, {self.aux[0] if len(self.aux) == 1 else '(' + ', '.join(self.aux) + ')'}"
        lines.append(f"return {returned}")
        return [f"def loss_fn({', '.join([p, *self.given(), *self.extra_given()])}):", *_indented(lines)]

    @property
    def aux(self) -> list[str]:
        """Returns what a loss returns besides its value."""
        some = self.some
        found = []
        if self.has_stats:
            found.append('updates["batch_stats"]' if some.model != "haiku" else "stats")
        found += {
            "aux": ["jnp.mean(pred)"],
            "rows": ["pred"],
            "count": ["jnp.sum(pred > 0)"],
            "worst": ["jnp.max(errors)"],
            "place of the worst": ["jnp.argmax(errors)"],
            "ranks": ["jnp.argsort(errors)"],
            "table": ["jnp.zeros((2, 2)).at[(errors > 0.5).astype(int), (errors > 1).astype(int)].add(1)"],
            "spread": ["jnp.std(errors)"],
            "largest three": ["jax.lax.top_k(errors, 3)[0]"],
        }.get(some.metrics, [])
        if some.metrics == "dict":
            found.append('{"loss": loss, "mean": jnp.mean(pred)}')
        return found

    def reduced(self) -> list[str]:
        kind, p = self.some.loss, self.params
        errors = ["errors = (pred - y) ** 2"]
        leaves = f"jax.tree.leaves({'nnx.state(model, nnx.Param)' if self.some.model == 'nnx' else p})"
        if self.some.model == "equinox":
            leaves = "jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))"
        table = {
            "mean": ["loss = jnp.mean(errors)"],
            "mean of vmap": ["loss = jnp.mean(jax.vmap(lambda e: 0.5 * e)(errors))"],
            "sum": ["loss = 0.05 * jnp.sum(errors)"],
            "sum over rows": ["loss = jnp.sum(errors) / y.shape[0]"],
            "sum over constant": ["loss = errors.sum() / BATCH"],
            "masked": ["loss = jnp.sum(errors * m) / jnp.sum(m)"],
            "masked max": ["loss = (errors * m).sum() / jnp.maximum(m.sum(), 1.0)"],
            "weighted": ["loss = jnp.mean(w * errors)"],
            "average": ["loss = jnp.average(errors, weights=w)"],
            "regularized": [f"loss = errors.mean() + 1e-2 * sum(jnp.sum(leaf**2) for leaf in {leaves})"],
            "regularized sum": [
                f"penalty = sum(jnp.sum(leaf**2) for leaf in {leaves})",
                "loss = 0.05 * jnp.sum(errors) + 1e-2 * penalty",
            ],
            "root": ["loss = jnp.sqrt(jnp.mean(errors))"],
            "of the batch": [
                "scaled = (errors - errors.mean()) / (errors.std() + 1.0)",
                "loss = jnp.mean(errors) + jnp.mean(scaled * jnp.tanh(pred))",
            ],
            "l2": ["loss = optax.l2_loss(pred, y).mean()"],
            "first axis": ["loss = jnp.mean(errors, axis=0)"],
            "size": ["loss = jnp.sum(errors) / errors.size"],
            "dot": ["loss = jnp.dot(pred - y, pred - y) / len(y)"],
            "by place": ["loss = jnp.mean(errors / (1 + jnp.arange(errors.shape[0])))"],
            "first half": ["loss = errors[: errors.shape[0] // 2].mean()"],
            "running": ["loss = jnp.mean(jnp.cumsum(errors) / errors.shape[0])"],
            "log of mean": ["loss = jnp.log(jnp.mean(jnp.exp(errors)))"],
            "largest": ["loss = jnp.max(errors)"],
            "spread": ["loss = jnp.mean(errors) + jnp.var(pred)"],
            "scan": [
                "total, _ = jax.lax.scan(lambda held, e: (0.9 * held + e, None), 0.0, errors)",
                "loss = total / errors.shape[0]",
            ],
            "pairs": ["loss = jnp.mean(errors) + jnp.mean((pred[:, None] - pred[None, :]) ** 2)"],
            **_COUPLED,
        }
        if kind == "cross entropy":
            called = "optax.softmax_cross_entropy_with_integer_labels(pred, y)"
            return [f"errors = {called}", "loss = errors.mean()"]
        return errors + table[kind]

    # The step

    def step_given(self) -> list[str]:
        some = self.some
        given = self.state()
        given += self.given()
        if self.draws and some.keys != "carried" and not self.is_nnx_dropout:
            given.append("key")
        if some.extras == "counter" or some.keys == "fold_in":
            given.append("count")
        if some.extras == "static":
            given.append("power")
        if some.extras == "running":
            given.append("center")
        if some.extras == "default":
            given.append("rate=0.5")
        return given

    def state(self) -> list[str]:
        """Returns the variables that a loop carries."""
        some = self.some
        carried = ["key"] if some.keys == "carried" else []
        if some.model == "train state":
            held = ["state"]
        elif some.model == "nnx":
            return ["model", "optimizer", *carried]
        else:
            held = [self.params, *(["opt_state"] if self.optax else []), *(["average"] if some.extras == "ema" else [])]
        return [*held, *(["stats"] if self.has_stats else []), *carried]

    def returned(self) -> list[str]:
        """Returns the names of a step's results in the loop that calls it."""
        some = self.some
        held = [name for name in self.state() if some.model != "nnx" or name == "key"]
        more = {"none": [], "loss": ["loss"], "dict": ["metrics"]}.get(some.metrics, ["loss", "extra"])
        return [*held, *more, *(["center"] if some.extras == "running" else [])]

    def value_and_grad(self) -> str:
        some = self.some
        base = {"nnx": "nnx.value_and_grad", "equinox": "eqx.filter_value_and_grad"}.get(
            some.model, "jax.value_and_grad"
        )
        aux = ", has_aux=True" if self.aux else ""
        return f"{base}(loss_fn{aux})"

    def scale(self) -> str:
        if self.some.extras == "counter":
            return "0.1 / (1 + count)"
        return "0.05"

    def step_body(self) -> list[str]:
        some, p = self.some, self.params
        if some.optimizer == "per example":
            return self.per_example()
        lines = []
        if some.keys == "carried":
            lines.append("key, used = jax.random.split(key)")
        if some.keys == "fold_in":
            lines.append("key = jax.random.fold_in(key, count)")
        if some.rebound == "batch in a branch":
            first = self.given()[0]
            scaled = {
                "tuple": f"({first}[0] * 0.5, *{first}[1:])",
                "dict": f'{{**{first}, "x": {first}["x"] * 0.5}}',
                "named tuple": f"{first}._replace(x={first}.x * 0.5)",
                "dataclass": f"dataclasses.replace({first}, x={first}.x * 0.5)",
            }.get(some.layout, f"{first} * 0.5")
            lines += ["if HALVE:", f"    {first} = {scaled}"]
        held = "state.params" if some.model == "train state" else p
        given = [held, *self.given(), *self.extra_given()]
        if some.keys == "carried":
            given[-1] = "used"
        function = self.value_and_grad()
        if some.rebound == "grad in a branch":
            lines += [f"grad_fn = {function}", "if HALVE:", f"    grad_fn = {self.half()}"]
            function = "grad_fn"
        elif some.rebound == "flag":
            lines.append(f"grad_fn = {function} if HALVE else {self.half_of(function)}")
            function = "grad_fn"
        elif some.metrics == "none" and not self.aux and some.model in ("plain", "layers", "linen", "haiku"):
            lines.append(f"grads = jax.grad(loss_fn)({', '.join(given)})")
            function = ""
        if some.extras == "microbatches":
            return [*lines, *self.microbatches()]
        if function:
            target = "loss"
            if self.aux:
                extras = ", ".join(f"extra{n}" for n in range(len(self.aux)))
                target = f"(loss, {'extra' if len(self.aux) == 1 else f'({extras})'})"
            lines.append(f"{target}, grads = {function}({', '.join(given)})")
        if some.rebound == "loss in a branch" and function:
            lines += ["if HALVE:", "    loss = loss / 2"]
        aux = ["extra"] if len(self.aux) == 1 else [f"extra{n}" for n in range(len(self.aux))]
        if self.has_stats and aux:
            lines.append(f"stats = {aux.pop(0)}")
        if aux and aux != ["extra"]:
            lines.append(f"extra = {aux[0]}")
        lines += self.updated()
        if some.metrics == "dict":
            lines.append('metrics = {**extra, "norm": optax.global_norm(grads)}')
        return [*lines, *self.return_line(self.returned())]

    def return_line(self, names: Sequence[str]) -> list[str]:
        return [f"return {', '.join(names)}"] if names else []

    def half(self) -> str:
        return self.half_of("grad_fn")

    def half_of(self, function: str) -> str:
        held = "" if function == "grad_fn" else f", of={function}"
        if not held:
            held = ", of=grad_fn"
        body = "jax.tree.map(lambda g: 0.5 * g, of(*args))"
        if self.aux or self.some.model != "nnx":
            body = "(lambda out: (out[0], jax.tree.map(lambda g: 0.5 * g, out[1])))(of(*args))"
        return f"lambda *args{held}: {body}"

    def updated(self) -> list[str]:
        some, p = self.some, self.params
        lines = []
        if some.optimizer == "norm":
            lines += [
                "norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))",
                "grads = jax.tree.map(lambda g: g / (1.0 + norm), grads)",
            ]
        if some.model == "train state":
            lines.append("state = state.apply_gradients(grads=grads)")
            return lines
        if some.model == "nnx":
            lines.append("optimizer.update(model, grads)")
            return lines
        if self.optax:
            where = "eqx.filter(model, eqx.is_array)" if some.model == "equinox" else p
            lines.append(f"updates, opt_state = optimizer.update(grads, opt_state, {where})")
            if some.extras == "counter":
                lines.append("updates = jax.tree.map(lambda u: u / (1 + count), updates)")
            apply = "eqx.apply_updates" if some.model == "equinox" else "optax.apply_updates"
            lines.append(f"{p} = {apply}({p}, updates)")
        elif some.model == "equinox":
            lines.append(f"updates = jax.tree.map(lambda g: -{self.scale()} * g, grads)")
            lines.append("model = eqx.apply_updates(model, updates)")
        elif some.model == "layers" and some.extras != "counter":
            lines.append(
                f"{p} = [(w - {self.scale()} * dw, b - {self.scale()} * db) for (w, b), (dw, db) in zip({p}, grads)]"
            )
        else:
            lines.append(f"{p} = jax.tree.map(lambda p, g: p - {self.scale()} * g, {p}, grads)")
        if some.extras == "static":
            lines.append(f"{p} = jax.tree.map(lambda p: p * 0.99**power, {p})")
        if some.extras == "default":
            lines.append(f"{p} = jax.tree.map(lambda p: p * (1 - 0.01 * rate), {p})")
        if some.extras == "running":
            first = {"dict": f'{self.batch}["x"]', "tuple": f"{self.batch}[0]"}.get(some.layout, "x")
            first = f"{self.batch}.x" if some.layout in ("named tuple", "dataclass") else first
            axis = "1" if some.layout == "axis 1" else "0"
            lines.append(f"center = 0.9 * center + 0.1 * {first}.mean(axis={axis})")
        if some.extras == "ema":
            lines.append(f"average = jax.tree.map(lambda a, p: 0.9 * a + 0.1 * p, average, {p})")
        return lines

    def per_example(self) -> list[str]:
        p = self.params
        held = "state.params" if self.some.model == "train state" else p
        given = self.given()
        if self.some.layout == "axis 1":
            axes = ", ".join(["None", "1", *["0"] * (len(given) - 1)])
            rows = [f"{name}[:, None]" if name == "x" else f"{name}[None]" for name in given]
        else:
            axes = ", ".join(["None", *["0"] * len(given)])
            rows = [f"{name}[None]" for name in given]
        grad = "eqx.filter_grad" if self.some.model == "equinox" else "jax.grad"
        return [
            f"def clipped({', '.join(given)}):",
            f"    grads = {grad}(loss_fn)({', '.join([held, *rows])})",
            "    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))",
            "    return jax.tree.map(lambda g: g / jnp.maximum(1.0, norm / 0.3), grads)",
            "",
            f"grads = jax.vmap(clipped, in_axes=({axes[6:]}))({', '.join(given)})",
            "grads = jax.tree.map(lambda g: jnp.mean(g, axis=0), grads)",
            *self.updated(),
            *self.return_line(self.returned()),
        ]

    def microbatches(self) -> list[str]:
        p, given = self.params, self.given()
        turned = self.some.layout == "axis 1"
        parts = [f"{name}.reshape(2, -1, *{name}.shape[1:])" for name in given]
        if turned:
            parts[0] = f"{given[0]}.reshape({given[0]}.shape[0], 2, -1).swapaxes(0, 1)"
        return [
            "def body(total, part):",
            f"    loss, grads = jax.value_and_grad(loss_fn)({p}, *part)",
            "    return jax.tree.map(jnp.add, total, (loss, grads)), None",
            "",
            f"zero = (0.0, jax.tree.map(jnp.zeros_like, {p}))",
            f"(loss, grads), _ = jax.lax.scan(body, zero, ({', '.join(parts)}))",
            "loss, grads = jax.tree.map(lambda t: t / 2, (loss, grads))",
            *self.updated(),
            *self.return_line(self.returned()),
        ]

    def compiled(self, method: bool = False) -> tuple[list[str], list[str]]:
        """Returns the decorators of a step, and the lines after it."""
        some = self.some
        jit = {"nnx": "nnx.jit", "equinox": "eqx.filter_jit"}.get(some.model, "jax.jit")
        given = self.step_given()
        offset = 1 if method else 0
        static = [f"static_argnums={given.index('power') + offset}"] if some.extras == "static" else []
        if method and some.model != "equinox":
            static.append("static_argnums=0" if not static else f"static_argnums=(0, {given.index('power') + 1})")
            static = static[-1:]
        if some.jit == "donate":
            static.append(f"donate_argnums={offset}")
        options = ", ".join(static)
        if some.jit == "none":
            return [], []
        if method or some.jit in ("decorator", "donate", "partial"):
            if not options:
                return [f"@{jit}"], []
            return [
                f"@partial({jit}, {options})" if some.jit != "donate" else f"@functools.partial({jit}, {options})"
            ], []
        more = f", {options}" if options else ""
        if some.jit == "of a lambda":
            return [], [f"{self.step}_jit = jax.jit(lambda *args: {self.step}(*args){more})"]
        return [], [f"{self.step}_jit = {jit}({self.step}{more})"]

    def called_step(self) -> str:
        if self.some.place == "class":
            return f"trainer.{self.step}"
        return f"{self.step}_jit" if self.compiled()[1] else self.step

    def step_def(self) -> list[str]:
        method = self.some.place == "class"
        before, after = self.compiled(method)
        given = (["self"] if method else []) + self.step_given()
        body = self.step_body() or ["pass"]
        return [
            *before,
            f"def {self.step}({', '.join(given)}):",
            *_indented(body),
            *(["", "", *after] if after else []),
        ]

    # The evaluation

    def evaluation(self) -> list[str]:
        some, p = self.some, self.params
        kind = some.evaluation
        held = "state.params" if some.model == "train state" else p
        first = "state" if some.model == "train state" else p
        stats = ["stats"] if self.has_stats else []
        jit = {"nnx": "@nnx.jit", "equinox": "@eqx.filter_jit"}.get(some.model, "@jax.jit")
        lines: list[str] = []
        called = self.applied(held, "x", train=False)
        if self.has_stats and some.model == "haiku":
            called += "[0]"
        if kind in ("loss", "both"):
            lines += [
                jit,
                f"def evaluate({', '.join([first, *stats, 'x', 'y'])}):",
                f"    pred = {called}",
                "    return jnp.mean((pred - y) ** 2)"
                if not self.classes
                else "    return jnp.mean(jnp.argmax(pred, axis=-1) == y)",
                "",
                "",
            ]
        if kind in ("accuracy", "count"):
            right = "jnp.argmax(pred, axis=-1) == y" if self.classes else "jnp.abs(pred - y) < 0.5"
            result = f"jnp.mean({right})" if kind == "accuracy" else f"jnp.sum({right})"
            lines += [
                jit,
                f"def accuracy({', '.join([first, *stats, 'x', 'y'])}):",
                f"    pred = {called}",
                f"    return {result}",
                "",
                "",
            ]
        result = {
            "centered": "pred - pred.mean(axis=0)",
            "best": "jnp.argmin(pred)",
            "order": "pred[jnp.argsort(x[:, 0])]",
        }.get(kind)
        if result is not None:
            lines += [jit, f"def look({', '.join([first, *stats, 'x'])}):", f"    pred = {called}"]
            lines += [f"    return {result}", "", ""]
        if kind in ("predict", "both"):
            name = "infer"
            lines += [jit, f"def {name}({', '.join([first, *stats, 'x'])}):", f"    return {called}", "", ""]
        return lines[:-2] if lines else []

    def evaluated(self) -> list[str]:
        some, p = self.some, self.params
        kind = some.evaluation
        first = ", ".join(["state" if some.model == "train state" else p, *(["stats"] if self.has_stats else [])])
        lines: list[str] = []
        if some.model == "nnx" and kind != "none" and (some.norm == "norm" or some.keys == "dropout"):
            lines.append("model.eval()")
        if kind in ("loss", "both"):
            lines.append(f'print("evaluation", float(evaluate({first}, xs, ys)))')
        if kind == "accuracy":
            lines.append(f'print("accuracy", accuracy({first}, xs[:32], ys[:32]))')
        if kind == "count":
            lines += [
                "right = 0",
                "for start in range(0, len(xs), 16):",
                f"    right += int(accuracy({first}, xs[start : start + 16], ys[start : start + 16]))",
                'print("right", right, len(xs))',
            ]
        if kind in ("centered", "best", "order"):
            lines += [f"seen = look({first}, xs)", 'print("seen", seen.shape, float(seen.sum()), np.ravel(seen)[-1])']
        if kind in ("predict", "both"):
            lines += [f"rows = infer({first}, xs)", 'print("rows", rows.shape, float(rows.sum()), rows[0], rows[-1])']
        return lines

    # The program

    def data(self) -> list[str]:
        count = {"ragged": "70"}.get(self.some.data, self.some.data)
        target = "np.sin(xs.sum(axis=1))" if not self.classes else f"generator.integers(0, 3, size={count})"
        lines = [
            "generator = np.random.default_rng(3)",
            f"xs = generator.normal(size=({count}, 4)).astype(np.float32)",
            f"ys = {target}" + ("" if self.classes else ".astype(np.float32)"),
        ]
        if self.has_mask:
            lines.append(f"ms = (generator.uniform(size={count}) > 0.3).astype(np.float32)")
        if self.has_weight:
            lines.append(f"ws = generator.uniform(0.5, 1.5, size={count}).astype(np.float32)")
        return lines

    def held(self, rows: str) -> list[str]:
        """Returns the arguments of a step that hold these rows."""
        some = self.some
        parts = {name: f"{name}s{rows}" for name in self.names}
        if some.layout == "axis 1":
            parts["x"] = f"xs{rows}.T"
            return list(parts.values())
        if some.layout == "two":
            return list(parts.values())
        if some.layout == "dict":
            return [f"{{{', '.join(f'{chr(34)}{name}{chr(34)}: {part}' for name, part in parts.items())}}}"]
        if some.layout in ("named tuple", "dataclass"):
            return [f"Batch({', '.join(f'{name}={part}' for name, part in parts.items())})"]
        return [f"({', '.join(parts.values())})"]

    def call(self, held: Sequence[str]) -> list[str]:
        some = self.some
        given = self.step_given()
        values = dict(zip(self.given(), held, strict=True))
        arguments = [values.get(name, name) for name in given if name != "rate=0.5"]
        lines = []
        if self.draws and some.keys not in ("carried", "fold_in") and not self.is_nnx_dropout:
            lines.append("rng, key = jax.random.split(rng)")
        if some.extras == "static":
            arguments[given.index("power")] = "2"
        if some.keys == "fold_in":
            arguments[given.index("key")] = "rng"
        returned = self.returned()
        target = f"{', '.join(returned)} = " if returned else ""
        if some.call == "keywords" and self.takes_keywords:
            first = len(self.state())
            arguments[first:] = [f"{n}={v}" for n, v in zip(given[first:], arguments[first:], strict=True)]
        called = self.called_step()
        if some.call == "handed on":
            called, arguments = "run", [called, *arguments]
        lines.append(f"{target}{called}({', '.join(arguments)})")
        if some.extras == "default":
            lines.append(f"{target}{called}({', '.join([*arguments, self.rate])})")
        if "loss" in returned:
            lines.append('print("loss", float(loss))')
        if "extra" in returned:
            lines.append('print("extra", extra.shape, float(extra.sum()))')
        if some.metrics == "dict":
            lines.append("print({name: float(value) for name, value in metrics.items()})")
        if "count" in given:
            lines.append("count += 1")
        return lines

    @property
    def takes_keywords(self) -> bool:
        return self.some.jit != "of a lambda" and self.some.extras != "static"

    def trained(self) -> list[str]:
        some = self.some
        lines = []
        if self.draws and some.keys != "carried" and not self.is_nnx_dropout:
            lines.append("rng = jax.random.PRNGKey(7)")
        if some.keys == "carried":
            lines.append("key = jax.random.key(7)")
        if "count" in self.step_given():
            lines.append("count = 0")
        if some.extras == "running":
            lines.append("center = jnp.zeros(4)")
        if some.place == "class":
            lines.append("trainer = Trainer()")
        if some.extras == "scan":
            return [*lines, *self.scanned()]
        if some.loop == "whole":
            lines += ["for _ in range(4):", *_indented(self.call(self.held("[:48]")))]
        elif some.loop == "epochs":
            turn = [f"idx = order[i * {self.size} : (i + 1) * {self.size}]", *self.call(self.held("[idx]"))]
            lines += [
                "for epoch in range(2):",
                "    order = np.random.default_rng(epoch).permutation(len(xs))",
                f"    for i in range(len(xs) // {self.size}):",
                *_indented(turn, 2),
            ]
        elif some.loop == "batches":
            lines += ["for batch in batches(" + ", ".join(f"{name}s" for name in self.names) + "):"]
            if some.layout in ("two", "axis 1"):
                held = [
                    f"batch[{place}]" + (".T" if some.layout == "axis 1" and name == "x" else "")
                    for place, name in enumerate(self.names)
                ]
            else:
                held = ["batch"]
            lines += _indented(self.call(held))
        elif some.loop == "zip":
            held = list(self.names) if some.layout == "two" else [f"({', '.join(self.names)})"]
            cut = ", ".join(f"np.split({name}s[:48], 3)" for name in self.names)
            lines += [f"for {', '.join(self.names)} in zip({cut}):", *_indented(self.call(held))]
        elif some.loop == "while":
            lines += [
                "start = 0",
                "while start < len(xs):",
                *_indented([*self.call(self.held(f"[start : start + {self.size}]")), f"start += {self.size}"]),
            ]
        else:
            lines += [f"for start in range(0, len(xs), {self.size}):"]
            lines += _indented(self.call(self.held(f"[start : start + {self.size}]")))
        return lines

    def scanned(self) -> list[str]:
        """Returns the lines that run an epoch in one compiled function."""
        names = ", ".join(self.state())
        parts = [f"{name}s.reshape(3, 16, *{name}s.shape[1:])" for name in self.names]
        if self.some.layout == "axis 1":
            parts[0] = "xs.reshape(3, 16, 4).swapaxes(1, 2)"
        carried = f"{names}" if "," in names else names
        return [f"{names}, losses = epoch({names}, {', '.join(parts)})", 'print("losses", losses)'] if carried else []

    def epoch(self) -> list[str]:
        names = self.state()
        carry = f"({', '.join(names)})" if len(names) > 1 else names[0]
        rows = [f"{name}s" for name in self.names]
        given = [*names, *self.names]
        known = {"power": "2", "count": "0"}
        given += [known[name] for name in self.step_given() if name in known]
        return [
            "@jax.jit",
            f"def epoch({', '.join([*names, *rows])}):",
            "    def body(carry, part):",
            f"        {', '.join(names)} = carry",
            f"        {', '.join(self.names)} = part",
            f"        {', '.join(self.returned())} = {self.step}({', '.join(given)})",
            f"        return {carry}, loss",
            "",
            f"    {carry}, losses = jax.lax.scan(body, {carry}, ({', '.join(rows)}))",
            f"    return {', '.join(names)}, losses",
        ]

    def ended(self) -> list[str]:
        some, p = self.some, self.params
        held = {"train state": "state.params", "nnx": "nnx.state(model, nnx.Param)"}.get(some.model, p)
        if some.model == "equinox":
            held = "eqx.filter(model, eqx.is_array)"
        lines = [f"for leaf in jax.tree.leaves({held}):", '    print("leaf", leaf.shape, float(jnp.abs(leaf).sum()))']
        if self.has_stats:
            lines.append('print("stats", [float(leaf.sum()) for leaf in jax.tree.leaves(stats)])')
        if some.extras == "ema" and some.model != "train state":
            lines.append('print("average", [float(leaf.sum()) for leaf in jax.tree.leaves(average)])')
        return lines

    def helpers(self) -> list[str]:
        some = self.some
        lines: list[str] = []
        if some.call == "handed on":
            lines += ["def run(function, *args):", "    return function(*args)", "", ""]
        if some.layout == "named tuple":
            lines += ["class Batch(NamedTuple):", *[f"    {name}: jax.Array" for name in self.names], "", ""]
        if some.layout == "dataclass":
            lines += ["@jax.tree_util.register_dataclass", "@dataclasses.dataclass", "class Batch:"]
            lines += [*[f"    {name}: jax.Array" for name in self.names], "", ""]
        if some.loop == "batches" and some.extras != "scan":
            rows = {name: f"{name}s[start : start + {self.size}]" for name in self.names}
            made = f"({', '.join(rows.values())})"
            if some.layout == "dict":
                made = "{" + ", ".join(f'"{name}": {part}' for name, part in rows.items()) + "}"
            elif some.layout in ("named tuple", "dataclass"):
                made = f"Batch({', '.join(rows.values())})"
            lines += [f"def batches({', '.join(f'{name}s' for name in self.names)}):"]
            lines += [f"    for start in range(0, len(xs), {self.size}):", f"        yield {made}", "", ""]
        return lines

    def program(self) -> Program:
        some = self.some
        constants = [f"BATCH = {self.size}"] if some.loss == "sum over constant" else []
        if some.rebound != "none" and some.optimizer != "per example":
            constants.append(f"HALVE = {some.loss != 'sum'}")
        head = [*constants, "", ""] if constants else []
        model = [*self.helpers(), *head, *self.model()]
        built = self.built() if some.model != "nnx" else []
        step = self.step_def()
        functions = [*self.loss(), "", ""]
        more = [self.epoch()] if some.extras == "scan" else []
        if self.evaluation():
            more.append(self.evaluation())
        main = [*self.data(), *self.initial(), *self.trained(), *self.evaluated(), *self.ended()]
        prefix = ""
        if some.place == "class":
            if some.model != "nnx" and not built:
                built = []
            step = ["class Trainer:", *_indented(step)]
        definitions = [*functions, *step]
        for one in more:
            definitions += ["", "", *one]
        if some.place == "nested" and some.extras != "scan":
            definitions, prefix = list(functions[:-2]), "main."
            nested = [*step]
            inner = self.evaluation()
            body = [*_tight([*nested, "", *inner]), *main]
            text = [*model, "", "", *built, "", "", *definitions, "", "", "def main():", *_indented(body)]
            text += ["", "", 'if __name__ == "__main__":', "    main()"]
        elif some.place in ("main", "nested"):
            text = [*model, "", "", *built, "", "", *definitions, "", "", "def main():", *_indented(main)]
            text += ["", "", 'if __name__ == "__main__":', "    main()"]
        elif some.place == "files":
            return self.in_files(model, built, definitions, main)
        else:
            text = [*model, "", "", *built, "", "", *definitions, "", "", *main]
        named = self.functions(prefix)
        return Program(some, {"train.py": self.spelled(text)}, tuple(f"train.py::{one}" for one in named), self.draws)

    def in_files(self, model: list[str], built: list[str], definitions: list[str], main: list[str]) -> Program:
        some = self.some
        first = [*model, "", "", *built, "", "", *definitions]
        text = "\n".join(first)
        defined = re.findall(r"^(?:def |class |)(\w+)(?= = |\(|:)", text, re.MULTILINE)
        used = [
            name
            for name in dict.fromkeys(defined)
            if re.search(rf"\b{name}\b", "\n".join(main)) and name not in ("print",)
        ]
        used = [name for name in used if name != "optimizer" or some.model != "nnx"]
        second = [f"from steps import {', '.join(used)}", "", *main]
        if len(self.some.loss) % 2:
            second = ["import steps", "", *[_qualified(line, used) for line in main]]
        files = {"steps.py": self.spelled(first), "train.py": self.spelled(second)}
        return Program(some, files, tuple(f"steps.py::{one}" for one in self.functions("")), self.draws)

    def functions(self, prefix: str) -> list[str]:
        some = self.some
        found = [f"{prefix}{self.step}"] if some.place != "class" else [f"Trainer.{self.step}"]
        if some.extras == "scan":
            found = ["epoch"]
        names = {
            "loss": ["evaluate"],
            "both": ["evaluate", "infer"],
            "accuracy": ["accuracy"],
            "count": ["accuracy"],
            "predict": ["infer"],
            "centered": ["look"],
            "best": ["look"],
            "order": ["look"],
        }
        return [*found, *(f"{prefix}{name}" for name in names.get(some.evaluation, []))]

    def spelled(self, lines: Sequence[str]) -> str:
        """Returns the text of a file with its imports in the style that was drawn."""
        text = re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines).strip("\n") + "\n")
        style = self.some.imports
        head = [line for line in text.split("\n") if line.startswith(("from steps", "import steps"))]
        for line in head:
            text = text.replace(line + "\n", "", 1)
        head_text = []
        named: list[str] = []
        if style == "names":
            for name in ("jit", "grad", "value_and_grad", "vmap"):
                if re.search(rf"(?<![\w.])jax\.{name}\b", text):
                    named.append(name)
                text = re.sub(rf"(?<![\w.])jax\.{name}\b", name, text)
        uses = {
            "dataclasses": "import dataclasses",
            "functools": "import functools",
        }
        for word, line in uses.items():
            if re.search(rf"\b{word}\.", text):
                head_text.append(line)
        if re.search(r"@partial\(|\bpartial\(", re.sub(r"functools\.partial", "", text)):
            head_text.append("from functools import partial")
        if "NamedTuple" in text:
            head_text.append("from typing import NamedTuple")
        third = []
        if "eqx." in text:
            third.append("import equinox as eqx")
        if re.search(r"\bnn\.", text):
            third.append("import flax.linen as nn" if style != "names" else "from flax import linen as nn")
        if "hk." in text:
            third.append("import haiku as hk")
        if style == "random as jr" and "jax.random." in text:
            text = text.replace("jax.random.", "jr.")
            third.append("import jax.random as jr")
        if re.search(r"(?<![\w.])jax\.", text):
            third.append("import jax")
        has_jnp, has_np = bool(re.search(r"\bjnp\.", text)), bool(re.search(r"(?<![\w.])np\.", text))
        if style == "numpy as np":
            text = re.sub(r"(?<![\w.])np\.", "onp.", text)
            text = re.sub(r"\bjnp\.", "np.", text)
            third += ["import jax.numpy as np"] if has_jnp else []
            third += ["import numpy as onp"] if has_np else []
        else:
            third += (
                [("from jax import numpy as jnp" if style == "names" else "import jax.numpy as jnp")] if has_jnp else []
            )
            third += ["import numpy as np"] if has_np else []
        if "optax." in text:
            third.append("import optax")
        if re.search(r"\bnnx\.", text):
            third.append("from flax import nnx")
        if "train_state." in text:
            third.append("from flax.training import train_state")
        if named:
            third.append(f"from jax import {', '.join(sorted(named))}")
        third.sort(key=lambda line: (line.startswith("from"), line.split()[1]))
        doc = '"""Trains a small model."""\n\n'
        first = "\n".join(head_text) + "\n\n" if head_text else ""
        last = "\n" + "\n".join(head) + "\n" if head else ""
        blank = "\n" if re.match(r"\w+ = |for |import |generator", text) else "\n\n"
        return doc + first + "\n".join(third) + "\n" + last + blank + text


def _indented(lines: Sequence[str], times: int = 1) -> list[str]:
    return ["    " * times + line if line else "" for line in lines]


def _tight(lines: Sequence[str]) -> list[str]:
    """Returns lines with at most one blank line between them."""
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n"))
    return [*text.split("\n"), ""]


def _qualified(line: str, names: Sequence[str]) -> str:
    return re.sub(rf"(?<![\w.\"])({'|'.join(names)})\b(?! = |=)", r"steps.\1", line) if names else line
