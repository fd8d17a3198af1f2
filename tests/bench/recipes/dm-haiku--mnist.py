import stand_ins

stand_ins.datasets(image=(28, 28, 1), label=10)
found = stand_ins.run(
    {
        "range(3001)": "range(3)",
        "step % 100 == 0": "True",
        "batch_size=1_000": "batch_size=16",
        "batch_size=10_000": "batch_size=48",
        "  for step in": "  globals()['held'] = lambda: state\n  for step in",
        ":.3f": ":.9f",
    },
    "mnist",
)
found["main"](None)
stand_ins.tell("state", found["held"]())
