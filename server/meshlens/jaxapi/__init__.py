"""JAX as rows of tables: a new JAX release requires edits only here.

names         one canonical name for all spellings
collectives   callables that use axis names: collectives, axis queries, reductions of arrays
consumers     library classes that need an axis name when they are used
binders       callables that bind axis names (binding defines the row, library_binders has more rows)
meshes        callables that make meshes, shardings and specs
transparent   callables that run their operand and bind nothing
known_names   names of libraries, of Python's modules and of their classes
libraries     randomness, devices, array constructors, replication, state
keywords      the keywords that a callable accepts in each version
changes       the data model of API changes; versions
history       every change (rows in history_core and history_sharding)
"""
