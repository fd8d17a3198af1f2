import stand_ins

found = stand_ins.run(
    {
        "ts, ys, model = main()": "ts, ys, model = main(64, 16, steps_strategy=(3, 2), plot=False, print_every=1)",
        ", Computation time: {end - start}": "",
        "jnp.linspace(0, 10, 100)": "jnp.linspace(0, 10, 40)",
    }
)
stand_ins.say(found, "model")
