import stand_ins

stand_ins.datasets(image=(28, 28, 1))
stand_ins.fixed_draws()
found = stand_ins.run(
    {
        "batch_size: int = 128": "batch_size: int = 16",
        "training_steps: int = 5000": "training_steps: int = 3",
        "hidden_size: int = 512": "hidden_size: int = 16",
        "  for step in": "  globals()['held'] = lambda: state.params\n  for step in",
    },
    "vae",
)
found["flags"].FLAGS(["vae"])
found["main"](None)
stand_ins.tell("params", found["held"]())
