"""The protocol: converts bytes to messages and back, and dispatches the messages."""
