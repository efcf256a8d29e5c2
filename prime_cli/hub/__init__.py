"""The environments hub: `create_app(settings)`, embedded by default."""
