import stand_ins

found = stand_ins.run(
    {
        "hidden_size = 512": "hidden_size = 16",
        "num_layers = 12": "num_layers = 1",
        "vocab_size = 10000": "vocab_size = 50",
        "sequence_length = 256": "sequence_length = 8",
        "update_fn.lower(params, opt_state, batch).compile()": "for _ in range(3):\n"
        "  params, opt_state = update_fn(params, opt_state, batch)\n"
        "print([float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(params)])\nraise SystemExit",
    }
)
