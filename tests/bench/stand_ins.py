"""Helpers for the recipes of `drive.py`: stand-ins for packages and data that are missing, and shortened programs.

import stand_ins

stand_ins.datasets(image=(28, 28, 1), label=10)
found = stand_ins.run({"range(3001)": "range(3)"})
stand_ins.say(found, "state")
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import runpy
import signal
import sys
import traceback
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np


class Anything:
    """Accepts every use, and does nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # As a decorator it leaves a function unchanged.
        return args[0] if len(args) == 1 and isinstance(args[0], types.FunctionType) else Anything()

    def __getitem__(self, key: Any) -> Any:
        return Anything()

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


def missing(*names: str, **members: Any) -> Any:
    """Replaces modules by ones that accept every use, with these members in the first, and returns the first."""
    for name in names:
        module = _Module(name)
        module.__path__ = []
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], last, module)
    first = sys.modules[names[0]]
    for name, value in members.items():
        setattr(first, name, value)
    return first


class Rows:
    """A data set in the style of `tf.data`, in memory, with its rows in order."""

    def __init__(self, columns: Any, size: int = 0, drop: bool = False, epochs: int = 1, changes: Any = ()) -> None:
        self.columns, self.size, self.drop, self.epochs, self.changes = columns, size, drop, epochs, changes

    def _with(self, **changed: Any) -> Rows:
        kept = {name: getattr(self, name) for name in ("columns", "size", "drop", "epochs", "changes")}
        return Rows(**{**kept, **changed})

    def map(self, function: Any, *args: Any, **kwargs: Any) -> Rows:
        return self._with(changes=(*self.changes, (function, self.size)))

    def batch(self, size: int, drop_remainder: bool = False, **kwargs: Any) -> Rows:
        return self._with(size=int(size), drop=drop_remainder)

    def repeat(self, *args: Any) -> Rows:
        return self._with(epochs=1_000_000)

    def shuffle(self, *args: Any, **kwargs: Any) -> Rows:
        return self

    cache = prefetch = with_options = shuffle

    def take(self, count: int) -> Rows:
        return self

    def as_numpy_iterator(self) -> Iterator[Any]:
        return iter(self)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) // max(self.size, 1)

    def __iter__(self) -> Iterator[Any]:
        count = len(next(iter(self.columns.values())))
        early = [function for function, size in self.changes if not size]
        late = [function for function, size in self.changes if size]
        for _ in range(self.epochs):
            for start in range(0, count, self.size or 1):
                places = range(start, min(start + (self.size or 1), count))
                if self.drop and len(places) < self.size:
                    continue
                rows = [{name: column[place] for name, column in self.columns.items()} for place in places]
                for function in early:
                    rows = [function(row) for row in rows]
                found = _stacked(rows) if self.size else rows[0]
                for function in late:
                    found = function(found)
                yield found


def _stacked(rows: list[Any]) -> Any:
    first = rows[0]
    if isinstance(first, dict):
        return {name: np.stack([row[name] for row in rows]) for name in first}
    if isinstance(first, tuple):
        return tuple(np.stack([row[place] for row in rows]) for place in range(len(first)))
    return np.stack(rows)


def columns(count: int, seed: int = 0, **shapes: Any) -> dict[str, np.ndarray]:
    """Returns columns of random data: bytes if a shape is given, integers below a number if a number is."""
    drawn = np.random.default_rng(seed)
    return {
        name: drawn.integers(0, shape, count)
        if isinstance(shape, int)
        else drawn.integers(0, 256, (count, *shape)).astype(np.uint8)
        for name, shape in shapes.items()
    }


def datasets(count: int = 48, **shapes: Any) -> None:
    """Replaces TensorFlow and its data sets by stand-ins; all data sets have these columns."""
    tf = missing("tensorflow", "tensorflow.compat", "tensorflow.compat.v2", "tensorflow.compat.v1")
    tf.cast = lambda x, dtype: np.asarray(x).astype(dtype)
    tf.reshape = lambda x, shape: np.reshape(x, shape)
    tf.is_tensor = lambda x: False
    tf.float32, tf.int32, tf.uint8, tf.int64 = np.float32, np.int32, np.uint8, np.int64
    tfds = missing("tensorflow_datasets", "tensorflow_datasets.public_api")

    def made(split: Any) -> Rows:
        return Rows(columns(count, int("test" in str(split)), **shapes))

    info = types.SimpleNamespace(
        splits={name: types.SimpleNamespace(num_examples=count) for name in ("train", "test")}, features=Anything()
    )

    def load(name: str = "", split: Any = None, with_info: bool = False, **kwargs: Any) -> Any:
        found = [made(one) for one in split] if isinstance(split, (list, tuple)) else made(split)
        return (found, info) if with_info else found

    tfds.load, tfds.as_numpy = load, lambda rows: rows
    tfds.builder = lambda *args, **kwargs: types.SimpleNamespace(
        download_and_prepare=lambda *args, **kwargs: None, info=info, as_dataset=lambda split, **kwargs: made(split)
    )
    tfds.Split = types.SimpleNamespace(TRAIN="train", TEST="test")


def digits_of_jax() -> None:
    """Replaces the digits that the examples of JAX load by random rows and labels."""
    drawn = np.random.default_rng(0)
    images = drawn.normal(size=(64, 784)).astype(np.float32)
    labels = np.eye(10, dtype=np.float32)[drawn.integers(0, 10, 64)]
    loaded = (images, labels, images[:32], labels[:32])
    missing("examples", "examples.datasets").datasets.mnist = lambda: loaded


def sources(count: int = 48, **shapes: Any) -> None:
    """Replaces grain, and the data sources that TensorFlow's data sets have for it, by stand-ins."""
    datasets(count, **shapes)
    features = {
        name: types.SimpleNamespace(shape=shape, num_classes=shape if isinstance(shape, int) else None)
        for name, shape in shapes.items()
    }

    def made(split: str) -> Any:
        info = types.SimpleNamespace(features=features)
        return types.SimpleNamespace(rows=Rows(columns(count, int("test" in split), **shapes)), dataset_info=info)

    sys.modules["tensorflow_datasets"].data_source = lambda name, split: [made(one) for one in split]  # type: ignore[attr-defined]
    missing("grain").MapDataset = types.SimpleNamespace(source=lambda source: source.rows)


def text(path: Path, changes: Mapping[str, str]) -> str:
    """Returns the text of a program with some parts replaced, all of which must occur in it."""
    found = path.read_text("utf-8")
    for old, new in changes.items():
        assert old in found, f"{old!r} does not stand in {path.name}"
        found = found.replace(old, new)
    return found


def run(changes: Mapping[str, str] | None = None, name: str = "__main__") -> dict[str, Any]:
    """Runs the program of the recipe, shortened, and returns what it ends with.

    Args:
        changes: replacements in its text.
        name: "__main__", or another name to run only the definitions.
    """
    path = Path(sys.argv[1])
    root = path.parent
    while (root / "__init__.py").exists():
        root = root.parent
    for folder in {str(root): None, str(path.parent): None}:
        sys.path.insert(0, folder)
    os.chdir(path.parent)
    np.random.seed(0)
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    sys.argv = [str(path)]
    exec(compile(text(path, changes or {}), str(path), "exec"), module.__dict__)
    return module.__dict__


def say(found: Mapping[str, Any], *names: str) -> None:
    """Prints the sums of the values of some variables."""
    for name in names:
        tell(name, found[name])


def tell(name: str, value: Any) -> None:
    """Prints the sums of the arrays in a value."""
    import jax

    leaves = [
        leaf for leaf in jax.tree_util.tree_leaves(value) if isinstance(leaf, (jax.Array, np.ndarray, float, int))
    ]
    leaves = [leaf for leaf in leaves if not (isinstance(leaf, jax.Array) and _is_key(leaf))]
    print(name, len(leaves), *(f"{float(np.abs(np.asarray(leaf, np.float64)).sum()):.6g}" for leaf in leaves))


def _is_key(leaf: Any) -> bool:
    import jax

    return bool(jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def fixed_draws() -> None:
    """Makes random numbers depend only on the last axis, neither on the key nor on the row.

    Each device of a map has a key of its own; with this, its numbers can be compared with those of one device.
    """
    import jax
    import jax.numpy as jnp

    def drawn(shape: Any) -> Any:
        size = tuple(shape)[-1] if len(tuple(shape)) else 1
        return jnp.broadcast_to(jnp.sin(1.0 + jnp.arange(size)) if tuple(shape) else jnp.float32(0.3), tuple(shape))

    def normal(key: Any, shape: Any = (), *args: Any, **kwargs: Any) -> Any:
        return drawn(shape)

    def uniform(key: Any, shape: Any = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
        return minval + (maxval - minval) * (0.5 + 0.5 * drawn(shape))

    def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> Any:
        return jnp.broadcast_to(jnp.asarray(p) > 0.5, jnp.shape(p) if shape is None else shape)

    jax.random.normal, jax.random.truncated_normal = normal, lambda key, low, high, shape=(), *args: drawn(shape)
    jax.random.uniform, jax.random.bernoulli = uniform, bernoulli


_LIBRARIES = "jax.numpy flax.linen flax.nnx flax.training.train_state optax haiku equinox matplotlib.pyplot".split()


def _answer(recipe: str, file: str, seconds: int) -> tuple[str, str]:
    """Runs a recipe in a separate process, and returns what it prints and why it ended early."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        printed, error = io.StringIO(), ""
        signal.alarm(seconds)
        sys.modules["stand_ins"] = sys.modules["__main__"]
        sys.argv = [recipe, file]
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            try:
                runpy.run_path(recipe)
            except SystemExit:
                pass
            except BaseException:
                error = traceback.format_exc(limit=-4)
        with os.fdopen(write_end, "w") as pipe:
            json.dump([printed.getvalue(), error], pipe)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return tuple(json.loads(answer)) if answer else ("", "took too long")


def _serve() -> None:
    for name in _LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(_answer(*json.loads(line))), flush=True)


if __name__ == "__main__":
    _serve()
