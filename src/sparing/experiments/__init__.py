"""The papers' experiments, a file each: figures as data, claims as data, and what runs, judges and shows them."""
