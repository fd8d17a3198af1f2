import types

import numpy as np
import stand_ins

drawn = np.random.default_rng(0)
images, labels = drawn.uniform(size=(96, 8, 8)), drawn.integers(0, 10, 96)
digits = types.SimpleNamespace(images=images, data=images.reshape(96, 64), target=labels)
stand_ins.missing("sklearn", "sklearn.datasets", load_digits=lambda: digits)
halves = (images[:64], images[64:], labels[:64], labels[64:])
stand_ins.missing("sklearn.datasets", load_digits=lambda: digits)
stand_ins.missing("sklearn.model_selection", train_test_split=lambda *args, **kwargs: halves)
stand_ins.missing("matplotlib", "matplotlib.pyplot").pyplot.subplots = lambda *args, **kwargs: (
    None,
    types.SimpleNamespace(flat=()),
)
found = stand_ins.run({"range(301)": "range(5)", "i % 50 == 0": "True", ":.2f": ":.7f", "nnx.display(model)": "pass"})
stand_ins.say(found, "model")
