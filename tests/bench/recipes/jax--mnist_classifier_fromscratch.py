import stand_ins

stand_ins.digits_of_jax()
found = stand_ins.run(
    {
        "num_epochs = 10": "num_epochs = 2",
        "batch_size = 128": "batch_size = 16",
        "1024, 1024": "32, 32",
        'print(f"Epoch {epoch} in {epoch_time:0.2f} sec")': "pass",
    }
)
stand_ins.say(found, "params")
