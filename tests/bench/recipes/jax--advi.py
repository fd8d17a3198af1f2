import stand_ins

stand_ins.missing("matplotlib", "matplotlib.pyplot")
found = stand_ins.run(
    {
        "range(100)": "range(3)",
        "        callback(params, t)": "        print(objective(params, t), params)",
        "plt.show(block=True)": "",
    }
)
