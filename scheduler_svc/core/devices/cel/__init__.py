"""CEL in selectors of devices: Google's interpreter, with Kubernetes' types and functions."""
