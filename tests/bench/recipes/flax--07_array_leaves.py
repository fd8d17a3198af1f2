import stand_ins

stand_ins.missing("matplotlib", "matplotlib.pyplot")
found = stand_ins.run({"10_000": "5", "step % 1000 == 0": "True", "np.linspace(0, 1, 100)": "np.linspace(0, 1, 96)"})
stand_ins.say(found, "model", "y_pred")
