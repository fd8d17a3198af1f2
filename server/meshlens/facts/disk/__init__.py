"""Writes facts as bytes, and reads them back from untrusted bytes."""
