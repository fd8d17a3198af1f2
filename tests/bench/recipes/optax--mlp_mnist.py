import stand_ins

stand_ins.sources(image=(28, 28, 1), label=10)
found = stand_ins.run({"BATCH_SIZE = 128": "BATCH_SIZE = 16", "[1000, 1000]": "[32, 32]", "step % 20 == 0": "True"})
stand_ins.say(found, "model", "optimizer", "test_losses")
