"""JAX as rows of tables: a release of JAX is an edit here, and nowhere else.

names         one canonical name for every spelling
collectives   what takes axis names: collectives, axis queries, reductions of arrays
consumers     library classes that need an axis name when they are used
binders       what binds axis names (the row is defined in binding, more rows in library_binders)
meshes        how meshes, shardings and specs are made
transparent   what runs its operand and binds nothing
libraries     randomness, devices, array constructors, replication, state
keywords      which keywords a callable accepts in which version
changes       what a change of the interface is; versions
history       every change (rows in history_core and history_sharding)
"""
