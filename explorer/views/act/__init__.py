"""View models of the Act tab."""
