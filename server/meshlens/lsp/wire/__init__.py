"""The protocol: bytes to messages, messages to bytes, and the types of both."""
