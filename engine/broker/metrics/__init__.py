"""What a broker measures, for Prometheus: the numbers, their names, and the page with them."""
