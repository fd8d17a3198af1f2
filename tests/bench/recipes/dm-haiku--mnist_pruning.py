import stand_ins

stand_ins.datasets(image=(28, 28, 1), label=10)
found = stand_ins.run(
    {
        "range(10001)": "range(3)",
        "step % 1000 == 0": "True",
        "batch_size=1000)": "batch_size=16)",
        "batch_size=10000": "batch_size=48",
    },
    "mnist_pruning",
)
found["main"](None)
