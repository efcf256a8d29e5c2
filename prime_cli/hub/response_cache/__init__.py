"""Pages and files that everybody may see, ready to be sent: few are asked for very often."""
