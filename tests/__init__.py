"""Tests. The folders mirror ``explorer``; the others are named after what they ask."""
