import stand_ins

stand_ins.sources(image=(28, 28, 1), label=10)
stand_ins.missing("matplotlib", "matplotlib.pyplot")
found = stand_ins.run(
    {
        "BATCH_SIZE = 128": "BATCH_SIZE = 16",
        "N_EPOCHS = 50": "N_EPOCHS = 2",
        "(1000, 1000)": "(32, 32)",
        "def plot(": "plot = print\n\n\ndef never(",
    }
)
stand_ins.say(found, "params", "train_losses", "test_losses")
