"""Pipeline files: steps of jobs, declared, checked, planned and run."""
