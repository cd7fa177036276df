"""The methods: one module each."""
