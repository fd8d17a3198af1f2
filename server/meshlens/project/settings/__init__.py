"""The words of a project about itself: its configuration, its version of JAX, its devices."""
