import stand_ins

stand_ins.missing("treescope")
found = stand_ins.run(
    {
        "rate=0.1": "rate=0.0",
        "optax.adam(1e-3)": "optax.sgd(1e-1)",
        "nnx.display(": "print(",
        "jnp.ones((5, 2)), jnp.ones((5, 10))": "jnp.sin(jnp.arange(32.0)).reshape(16, 2), jnp.ones((16, 10))",
        "@nnx.vmap(in_axes=0": "print(loss, nnx.state(model))\nraise SystemExit\n\n\n@nnx.vmap(in_axes=0",
    }
)
