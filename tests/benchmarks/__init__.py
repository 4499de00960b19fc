"""Measurements behind the speeds that the documents state; nothing here is collected as a test."""
