"""From devices to schedules, and to devices that have room."""
