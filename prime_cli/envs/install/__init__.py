"""Install environments into a workspace, and read what it has."""
