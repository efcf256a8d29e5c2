"""A saved run in forms for others: one HTML page, CSV, a data set for the Hugging Face Hub."""
