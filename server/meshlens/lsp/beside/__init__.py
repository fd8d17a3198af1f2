"""The server's helper process, which reads large projects."""
