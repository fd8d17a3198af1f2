"""Semantic token types for the colors of axes."""

from __future__ import annotations

TOKEN_TYPES = ("type", "number", "function", "macro", "property", "keyword")
"""Types that the color themes of editors tell apart, one for each color."""

TOKEN_MODIFIERS = ("axis",)
