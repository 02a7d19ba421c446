"""kopf: the only package that imports it. It watches our custom resources, and nothing else."""
