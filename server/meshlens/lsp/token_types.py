"""Semantic token types for the colors of axes."""

from __future__ import annotations

TOKEN_TYPES = ("type", "number", "function", "macro", "property", "keyword")
"""Token types that editors' color themes distinguish, one per color."""

TOKEN_MODIFIERS = ("axis",)
