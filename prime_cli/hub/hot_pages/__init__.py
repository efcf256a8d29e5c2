"""Pages that everybody may see, kept ready to be sent: an index answers few of them very often."""
