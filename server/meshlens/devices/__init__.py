"""Target and detected devices; never imports JAX.

- `report`: the result of a probe, as data.
- `probe`: the program that the user's interpreter runs, and the contract of its answer.
- `runner`: runs a probe, and converts any outcome to a report; `failures` has the messages.
- `processes`: runs a program with limits, and ends it and its children.
- `child_environment` and `trust`: limit which variables a program sees and which programs are run.
- `interpreters`: finds the Python that runs a folder's code; `environments`: knows where tools keep environments.
- `picture`: devices as columns of text; `virtual`: the environment variables for virtual devices.
- `reports`: earlier reports, cached on disk.
- `machine`: accelerators, detected without JAX; `topology` and `tpus`: target devices.
"""
