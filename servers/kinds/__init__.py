"""The servers, one module for each kind."""
