# to: pmap shard_map
# convert: fit_step kmeans_step confusion covariance normal_equations attend ridge_step column_step
import jax
import jax.numpy as jnp


@jax.jit
def fit_step(w, x, y):
    error = x @ w - y
    return w - 0.1 * (2 / x.shape[0]) * x.T @ error, jnp.mean(error**2)


@jax.jit
def kmeans_step(centers, x):
    labels = jnp.argmin(jnp.sum((x[:, None] - centers) ** 2, axis=2), axis=1)
    sums = jax.ops.segment_sum(x, labels, num_segments=3)
    counts = jax.ops.segment_sum(jnp.ones(x.shape[0]), labels, num_segments=3)
    return sums / jnp.maximum(counts, 1.0)[:, None]


@jax.jit
def confusion(w, x, labels):
    predicted = jnp.argmax(x @ w, axis=1)
    return jnp.zeros((3, 3), jnp.int32).at[labels, predicted].add(1)


@jax.jit
def covariance(center, x):
    moved = x - center
    return jnp.einsum("ni,nj->ij", moved, moved) / len(x), jnp.vdot(x, x)


@jax.jit
def normal_equations(x, y):
    return jnp.linalg.solve(jnp.dot(jnp.transpose(x), x), x.transpose() @ y)


@jax.jit
def attend(w, x):
    _, _, features = x.shape
    scores = jnp.einsum("nti,nsi->nts", x @ w, x) / features
    return jnp.swapaxes(jax.nn.softmax(scores, axis=2), -2, -1) @ x


def columns(w, x):
    return jnp.mean(jnp.einsum("bi->i", x * w - 0.1) ** 2)


@jax.jit
def column_step(w, x):
    value, slope = jax.value_and_grad(columns)(w, x)
    return w - 0.01 * slope, value


def cost(w, x, y):
    m = x.shape[0]
    return (1 / (2 * m)) * jnp.sum((x @ w - y) ** 2) + 0.01 * jnp.sum(w**2)


@jax.jit
def ridge_step(w, x, y):
    value, slope = jax.value_and_grad(cost)(w, x, y)
    return w - 0.1 * slope, value


x = jnp.sin(jnp.arange(96.0) ** 1.5).reshape(32, 3)
y = x @ jnp.array([1.0, -2.0, 0.5])
w = jnp.zeros(3)
for _ in range(3):
    w, loss = fit_step(w, x, y)
    print("loss", loss, w)
centers = x[:3]
for _ in range(3):
    centers = kmeans_step(centers, x)
print(centers)
for _ in range(3):
    w, value = ridge_step(w, x, y)
    print("value", value, w)
for _ in range(3):
    w, value = column_step(w, x)
    print("columns", value, w)
labels = jnp.arange(32) % 3
print(confusion(jnp.eye(3), x, labels))
print(covariance(x.mean(0), x))
print(normal_equations(x, y))
x = jnp.cos(jnp.arange(192.0)).reshape(16, 4, 3)
print(attend(jnp.eye(3), x).sum((1, 2)))
