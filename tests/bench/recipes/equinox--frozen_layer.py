import stand_ins

found = stand_ins.run(
    {"steps=1000": "steps=4", "dataset_size=10000": "dataset_size=64", "batch_size=256": "batch_size=16"}
)
