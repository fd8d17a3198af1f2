"""The process beside the server that reads large projects."""
