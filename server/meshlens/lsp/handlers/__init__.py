"""One file for each request or notification, named after it; `server.py` lists them."""
