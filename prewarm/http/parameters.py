"""Parts of paths as JSON schema, shared by the routes of several subjects."""

from __future__ import annotations

from typing import Any

from prewarm.http.words import ID_PATTERN, KEY_PATTERN

KEY_PARAMETER: dict[str, dict[str, Any]] = {"key": {"type": "string", "pattern": KEY_PATTERN}}
TARGET_PARAMETER: dict[str, dict[str, Any]] = {"target": {"type": "string", "pattern": KEY_PATTERN}}
ID_PARAMETER: dict[str, dict[str, Any]] = {"id": {"type": "string", "pattern": ID_PATTERN}}
