"""The protocol: bytes to messages and back, and the types of both."""
