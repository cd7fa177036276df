"""Tables that any problem can have, as data frames in long form; each module makes one."""
