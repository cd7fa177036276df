"""The bounds and programs of the MTPP paper, as printed ([MTPP24])."""
