"""The helper process of the server that reads large projects."""
