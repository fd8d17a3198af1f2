"""The behaviour of a program on many devices, without the devices; never imports JAX; importing it starts nothing.

- `model`: a trace as data, with its JSON form; `request`: what is traced, and for which devices.
- `tracer`: one function from a request to a trace; `warm`: the processes that it keeps.
- `worker`: what runs in the user's Python.
- `hlo`: reads a module that XLA dumped; `rewrites`: what a target's compiler makes of its collectives; `partitioned`
  puts the two into rows of the model.
- `machines`: bandwidths and peaks, with their sources; `costs`: lower bounds of time.
"""
