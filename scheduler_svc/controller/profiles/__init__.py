"""SchedulerProfiles: whether one can be run, and whether a scheduler runs it."""
