"""Facts as bytes, and back from untrusted bytes."""
