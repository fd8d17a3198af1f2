"""What devices there are and what they are meant to be; never imports JAX.

- `report`: what a probe says, as data.
"""
