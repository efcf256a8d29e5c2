"""Local runs and the embedded hub in a browser: `prime open`."""
