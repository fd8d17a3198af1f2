"""Predicts the behavior of a program on many devices without needing them; never imports JAX.

- `model`: a trace as data, with its JSON form; `request`: the entry to trace and its devices.
- `tracer`: one function from a request to a trace; `warm`: the processes kept for it.
- `environment`: the variables that the user's Python sees; `worker`: the code that runs in the user's Python.
- `hlo`: reads a module that XLA dumped; `rewrites`: how a target's compiler changes its collectives; `partitioned`
  combines the two into rows of the model.
- `machines`: bandwidths and peaks, with their sources; `costs`: lower bounds on time.
"""
