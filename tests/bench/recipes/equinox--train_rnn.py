import stand_ins

stand_ins.run({"steps=200": "steps=5", "dataset_size=10000": "dataset_size=96"})
