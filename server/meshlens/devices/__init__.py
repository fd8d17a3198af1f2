"""Target and detected devices; never imports JAX.

- `report`: the result of a probe, as data.
- `probe`: the program that the user's interpreter runs, and its contract.
- `runner`: runs a probe, and converts any outcome to a report; `failures` has the messages.
- `processes`: ends a program and its children; `child_environment` and `trust` limit its environment and location.
- `interpreters`: finds the Python that runs a folder's code; `environments`: the layouts of environment tools.
- `picture`: devices as columns of text; `virtual`: the environment variables for virtual devices.
- `reports`: earlier reports, cached on disk.
- `machine`: accelerators, detected without JAX.
"""
