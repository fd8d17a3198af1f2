import stand_ins

found = stand_ins.run({"dataset_size = 10": "dataset_size = 16"})
stand_ins.say(found, "model", "pred_test_ys")
