import stand_ins

found = stand_ins.run(
    {
        "range(101)": "range(3)",
        "n_samples = 20": "n_samples = 24",
        "print(bytes_output)": "",
        "print(dict_output)": "",
        "i % 10 == 0": "True",
    }
)
stand_ins.say(found, "params", "state", "opt_state", "loss_val")
