"""Tables and figures from `bench.analysis`: one function a figure, one module a format, one style for all."""
