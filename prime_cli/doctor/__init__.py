"""What `prime doctor` looks at: this machine and its settings, one subject a module."""
