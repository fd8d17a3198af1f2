import stand_ins

stand_ins.sources(image=(28, 28, 1), label=10)
stand_ins.missing("matplotlib", "matplotlib.pyplot")
found = stand_ins.run(
    {
        "EPOCHS = 10 ": "EPOCHS = 1 ",
        "_BATCH_SIZE = 128": "_BATCH_SIZE = 16",
        "maxiter=10": "maxiter=2",
        "fig, axes = ": "raise SystemExit\nfig, axes = ",
        "features=32": "features=4",
        "features=64": "features=4",
        '  print(f"Time elapsed: {time_elapsed}\\n")': "  sums = jax.tree.map(jnp.sum, var_params)\n  print(sums)",
    }
)
