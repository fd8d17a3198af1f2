import types

import numpy as np
import stand_ins

drawn = np.random.default_rng(0)
rows = [(drawn.integers(0, 256, (8, 8, 3)).astype(np.uint8), int(drawn.integers(0, 10))) for _ in range(32)]
stand_ins.missing("matplotlib", "matplotlib.pyplot")
stand_ins.missing("albumentations").Compose = lambda steps: lambda image: {"image": image.astype(np.float32) / 255}
features = {"label": types.SimpleNamespace(num_classes=10), "image": types.SimpleNamespace(shape=(8, 8, 3))}
splits = {"train": types.SimpleNamespace(num_examples=32)}
tfds = stand_ins.missing("tensorflow_datasets")
tfds.load = lambda *args, **kwargs: ((rows, rows), types.SimpleNamespace(features=features, splits=splits))
tfds.as_numpy = lambda held: held
found = stand_ins.run(
    {
        "MAX_EPOCHS = 50": "MAX_EPOCHS = 2",
        "BATCH_SIZE = 128": "BATCH_SIZE = 16",
        'MODEL = "resnet18"': 'MODEL = "resnet1"',
        "nnx.display(": "print(",
        "def plot_sample_images(loader):": "def plot_sample_images(loader):\n  return",
        "fig, (ax1, ax2) = ": "raise SystemExit\nfig, (ax1, ax2) = ",
        '      print(f"Epoch: {epoch}")': "      print(test_losses, train_losses)",
        "epoch % 10 == 0": "True",
    }
)
