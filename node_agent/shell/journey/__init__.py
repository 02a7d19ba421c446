"""The IO of journeys: directories, Events and dates to read, metrics and JSON to show."""
