"""The data of the screens of `prime eval view`, without a screen."""
