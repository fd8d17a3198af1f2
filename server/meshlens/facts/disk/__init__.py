"""Facts as bytes, and back from bytes that anybody may have changed."""
