"""One module per method; what several of them use is in the folders beside this one."""
