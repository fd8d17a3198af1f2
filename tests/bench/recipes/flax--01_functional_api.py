import stand_ins

stand_ins.missing("matplotlib", "matplotlib.pyplot")
found = stand_ins.run(
    {"total_steps = 10_000": "total_steps = 4", "step % 1000": "step % 1", "counts)\n": "counts, copy=True)\n"}
)
stand_ins.say(found, "params", "counts")
