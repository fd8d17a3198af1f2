import types

import stand_ins

stand_ins.datasets(image=(28, 28, 1), label=10)
stand_ins.missing("ml_collections")
stand_ins.missing("utils")
stand_ins.fixed_draws()
found = stand_ins.run(name="vae_train")
config = types.SimpleNamespace(batch_size=16, latents=4, learning_rate=1e-3, num_epochs=1)
found["train_and_evaluate"](config, "")
