"""Figures, as plain Plotly documents."""
