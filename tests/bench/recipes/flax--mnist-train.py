import types

import stand_ins

stand_ins.datasets(count=32, image=(28, 28, 1), label=10)
stand_ins.missing("ml_collections")
stand_ins.missing("flax.metrics", "flax.metrics.tensorboard")
metrics = []
log = types.SimpleNamespace(info=lambda text: metrics.append(text))
found = stand_ins.run(
    {"rate=0.025": "rate=0.0", "  # Export the model": "  return\n  # Export the model"}, "mnist_train"
)
found["logging"] = log
config = type("Config", (dict,), {"__getattr__": dict.__getitem__})(
    batch_size=16, learning_rate=0.01, momentum=0.9, num_epochs=2
)
found["train_and_evaluate"](config, "")
print(metrics)
