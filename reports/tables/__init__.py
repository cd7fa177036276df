"""Tables that any problem can have, as data frames in long form; a module for each sort."""
