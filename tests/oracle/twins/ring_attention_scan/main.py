import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

SEQ = "sp"
VARYING = ("dp", SEQ)
NEG = -1e30


def block(q, k, v, mask, acc, m, l):
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    s = jnp.where(mask, s, NEG)
    m_new = jnp.maximum(m, s.max(-1))
    p = jnp.exp(s - m_new[..., None])
    scale = jnp.exp(m - m_new)
    l = l * scale + p.sum(-1)
    acc = acc * scale.transpose(0, 2, 1)[..., None] + jnp.einsum("bhqk,bkhd->bqhd", p, v)
    return acc, m_new, l


def ring_attention(q, k, v, axis_name=SEQ):
    n = lax.axis_size(axis_name)
    me = lax.axis_index(axis_name)
    b, t, h, _ = q.shape
    rows = me * t + jnp.arange(t)

    def body(carry, i):
        acc, m, l, k, v = carry
        owner = (me - i) % n
        cols = owner * t + jnp.arange(t)
        acc, m, l = block(q, k, v, rows[:, None] >= cols[None, :], acc, m, l)
        perm = [(j, (j + 1) % n) for j in range(n)]
        k, v = lax.ppermute((k, v), axis_name, perm)
        return (acc, m, l, k, v), None

    m0 = lax.pcast(jnp.full((b, h, t), NEG), VARYING, to="varying")
    l0 = lax.pcast(jnp.zeros((b, h, t)), VARYING, to="varying")
    init = (jnp.zeros_like(q), m0, l0, k, v)
    (acc, _, l, _, _), _ = lax.scan(body, init, jnp.arange(n))
    return acc / l.transpose(0, 2, 1)[..., None]


def full_attention(q, k, v):
    t = q.shape[1]
    s = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    s = jnp.where(jnp.tril(jnp.ones((t, t), bool)), s, NEG)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(s, -1), v)


class Attention:
    def __init__(self, heads, head_dim, mesh):
        self.heads, self.head_dim = heads, head_dim
        self.spec = P("dp", SEQ, None, None)
        self.sharded = jax.jit(jax.shard_map(ring_attention, mesh=mesh, in_specs=(self.spec,) * 3, out_specs=self.spec))

    def __call__(self, params, x, parallel=True):
        q, k, v = (self.split(x @ params[n]) for n in ("q", "k", "v"))
        y = self.sharded(q, k, v) if parallel else full_attention(q, k, v)
        return y.reshape(x.shape) @ params["o"]

    def split(self, x):
        return x.reshape(*x.shape[:-1], self.heads, self.head_dim)


def main():
    mesh = jax.make_mesh((2, 4), ("dp", SEQ), axis_types=(AxisType.Auto,) * 2)
    attn = Attention(2, 8, mesh)
    keys = jax.random.split(jax.random.key(0), 5)
    params = {n: jax.random.normal(k, (16, 16)) / 4 for n, k in zip("qkvo", keys)}
    x = jax.random.normal(keys[-1], (4, 32, 16))
    return bool(jnp.allclose(attn(params, x), attn(params, x, parallel=False), atol=1e-4))


if __name__ == "__main__":
    agrees = main()
