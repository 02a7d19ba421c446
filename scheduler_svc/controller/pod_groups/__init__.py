"""PodGroups: who belongs to one, what is to be said of it, and saying it."""
