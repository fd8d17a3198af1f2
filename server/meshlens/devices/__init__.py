"""The devices that exist and the devices that code is meant for; never imports JAX.

- `report`: what a probe says, as data.
- `probe`: the program that a user's interpreter runs, and its contract.
- `runner`: runs it, and makes a report of whatever comes back; `failures` has the sentences.
- `processes`: ends a program whole; `child_environment` and `trust` say what it may see and where it may lie.
- `interpreters`: which Python runs the code of a folder; `environments`: the layouts of the tools that make them.
- `picture`: devices as columns of text; `virtual`: the environment that gives a program virtual ones.
- `reports`: what was told before, kept on disk.
- `machine`: accelerators, told without JAX.
"""
