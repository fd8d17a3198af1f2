"""One file per request or notification, named after it; `server.py` lists them."""
