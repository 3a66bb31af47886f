"""Models that generate text, and the routes that ask them."""
