"""Prints what JAX says of the operations of `jaxapi/operations.py`: a separate program, on eight devices.

`python variation_in_jax.py NAME ...` prints a line of JSON for each operation that one of the `CALLS` fits: the call,
its types in a checked `shard_map` for replicated and for varying arguments, and what its results are when the
arguments are rows of a batch: rows of the result for the whole batch, or parts of its sum or of its mean.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys

import virtual_devices

CALLS = (
    "{f}(a) {f}(a,b) {f}(a,b,a) {f}(n) {f}(n,m) {f}(a,n) {f}(n,a) {f}(a,0) {f}(a,1,0) {f}(a,0,1) {f}(a>0,a,b) "
    "{f}([a,b]) {f}([a,b],0) {f}(a,(8,8)) {f}(a,(8,8),(0,1)) {f}(a,(1,0)) {f}(a,(0,)) {f}(a,n,0) {f}(n,8) "
    "{f}(a,'float16') {f}(a,0,0) {f}(n[:,0],a) {f}(a,b,(((1,),(0,)),((),()))) {f}(a[0],a[1]) {f}(a[0],n[0]) "
    "{f}('ij,jk->ik',a,b) {f}(a,n[0]) {f}(n[0]) {f}(a,b[0]) {f}(a[0],b) {f}(a,50) {f}(a,2) {f}(a,b,0.5) "
    "{f}(a,0.5) {f}(a[0]) {f}(a@a.T+8*jnp.eye(8)) {f}((8,8)) {f}(8) {f}(0,8) {f}('float32',8) "
    "{f}('float32',(8,8),0) {f}(a,(0,0),(8,8)) {f}(a,(0,0),(4,4)) {f}(a,b,(0,0)) {f}(a,0,4) {f}(a,0,4,1) "
    "{f}(a,0,'int32') {f}(a,[(0,0,0),(0,0,0)]) {f}(a,0.0,[(0,0,0),(0,0,0)]) {f}(a,b,0,0) {f}('d') {f}(a,a>0) "
    "{f}(a,3) {f}(a>0,n) {f}(a[None],b[None],b[None]) {f}(a[:,None,:,None],b[:,None,:,None],b[:,None,:,None]) "
    "{f}((a,a.T)) {f}([a>0],[a]) {f}(a,a+b) {f}(a[None],b[None]) {f}(a,b,inplace=False) {f}(a,0,inplace=False) "
    "{f}(3.0,a) {f}(1,a[0]) {f}(a,(),(8,8)) {f}(3,n) {f}([0.1,0.2],a) {f}(a,n[:,0]) {f}(jnp.abs(a),2) "
    "{f}(0.5,a,b) {f}(2,a) "
).split()
OWN_CALLS = {"jax.numpy.linalg.matrix_power": ("{f}(a,2)",)}
"""Calls to try first: the power 0 would give the identity matrix, whatever the array is."""
SPECS = {"same": "II", "first": "VI", "second": "IV", "both": "VV"}
NAMES = "jax jax.numpy jax.lax jax.nn jax.scipy.special jax.scipy.stats jax.scipy.linalg optax".split()


def operation(name: str):
    """Returns the function of this name."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        try:
            return functools.reduce(getattr, parts[count:], found)
        except AttributeError:
            continue
    return None


def main(names: list[str]) -> None:
    """Prints JAX's answers."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), ("d",))
    shard_map = jax.shard_map if hasattr(jax, "shard_map") else jax.experimental.shard_map.shard_map

    def is_varying(leaf) -> bool:
        kind = jax.typeof(leaf)
        axes = kind.manual_axis_type.varying if hasattr(kind, "manual_axis_type") else kind.vma
        return "d" in axes

    def run(function, call: str, a, b):
        scope = {"a": a, "b": b, "n": jnp.int32(3 * a), "m": jnp.int32(3 * b), "jnp": jnp, "f": function}
        return eval(call.replace("{f}", "f"), scope)

    def typed(function, call: str, specs: str) -> str:
        seen: list[bool] = []

        def body(a, b):
            leaves = [leaf for leaf in jax.tree.leaves(run(function, call, a, b)) if isinstance(leaf, jax.Array)]
            seen.append(any(map(is_varying, leaves)))
            return jnp.float32(0)

        shapes = [jax.ShapeDtypeStruct((8 * (8 if one == "V" else 1), 8), jnp.float32) for one in specs]
        given = tuple(P("d") if one == "V" else P() for one in specs)
        jax.eval_shape(shard_map(body, mesh=mesh, in_specs=given, out_specs=P()), *shapes)
        return "varying" if seen[0] else "invariant"

    key = jax.random.key(0)
    whole, b = jax.random.uniform(key, (64, 8)) + 0.1, jax.random.uniform(jax.random.fold_in(key, 1), (8, 8)) + 0.1

    def close(one, other) -> bool:
        one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
        return one.shape == other.shape and np.allclose(one, other, rtol=1e-2, atol=1e-3, equal_nan=True)

    def parts(function, call: str) -> list[str]:
        def result(a):
            found = jax.tree.leaves(run(function, call, a, b))
            return found[0]

        try:
            blocks = [result(whole[8 * one : 8 * one + 8]) for one in range(8)]
            all_rows = result(whole)
            rows = [
                str(one)
                for one in (
                    "rows" if np.ndim(blocks[0]) and close(np.concatenate(blocks), all_rows) else "",
                    "sum" if close(sum(np.asarray(one, dtype=np.float64) for one in blocks), all_rows) else "",
                    "mean"
                    if close(np.mean([np.asarray(one, dtype=np.float64) for one in blocks], 0), all_rows)
                    else "",
                    "columns" if np.ndim(blocks[0]) and close(np.concatenate(blocks, -1), all_rows) else "",
                )
            ]
            return [one for one in rows if one]
        except Exception:
            return ["unfit"]

    for name in names:
        function = operation(name)
        for call in (*OWN_CALLS.get(name, ()), *CALLS) if function is not None else ():
            try:
                types = {label: typed(function, call, specs) for label, specs in SPECS.items()}
            except Exception:
                continue
            said = {"name": name, "call": call, "typed": types, "parts": parts(function, call)}
            print(json.dumps(said), flush=True)
            break


if __name__ == "__main__":
    os.environ.update(virtual_devices.environment())
    for module in NAMES:
        importlib.import_module(module)
    main(sys.argv[1:])
