"""The methods that claims share, each usable on its own."""
