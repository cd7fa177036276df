"""Series decomposition: what modules between two operators take, added up along a chain of them."""
