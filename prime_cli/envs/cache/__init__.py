"""What prime keeps in its home to be faster: listed, verified, and removed when it is not used."""
