"""Starts the real catalogs on one machine: for development, for recording and for live tests. Not distributed."""
