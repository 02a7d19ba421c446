"""Random clusters: the same family and seed give the same snapshot."""
