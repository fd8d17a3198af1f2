import stand_ins

stand_ins.missing("matplotlib", "matplotlib.pyplot")
found = stand_ins.run(
    {"total_steps = 10_000": "total_steps = 4", "step % 1000": "step % 1", "nnx.TrainState[MLP]": "TrainState"}
)
stand_ins.tell("params", found["state"].params)
