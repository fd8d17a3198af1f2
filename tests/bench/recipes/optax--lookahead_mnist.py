import stand_ins

stand_ins.sources(image=(28, 28, 1), label=10)
found = stand_ins.run(
    {
        "BATCH_SIZE = 256": "BATCH_SIZE = 16",
        "out_features=32": "out_features=4",
        "in_features=32": "in_features=4",
        "out_features=64": "out_features=4",
        "7*7*64": "7*7*4",
    }
)
stand_ins.say(found, "params", "train_losses", "test_losses")
