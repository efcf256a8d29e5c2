"""What the screens of `prime eval view` show, without a screen."""
