import numpy as np
import stand_ins

drawn = np.random.default_rng(0)
images, labels = (
    drawn.normal(size=(64, 784)).astype(np.float32),
    np.eye(10, dtype=np.float32)[drawn.integers(0, 10, 64)],
)
stand_ins.missing("examples", "examples.datasets").datasets.mnist = lambda: (images, labels, images[:32], labels[:32])
found = stand_ins.run(
    {
        "num_epochs = 10": "num_epochs = 2",
        "batch_size = 128": "batch_size = 16",
        "1024, 1024": "32, 32",
        'print(f"Epoch {epoch} in {epoch_time:0.2f} sec")': "pass",
    }
)
stand_ins.say(found, "params")
