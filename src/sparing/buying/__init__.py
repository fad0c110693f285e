"""What can be bought, at what price, and with which probabilities."""
