"""The screens of `prime eval view`, in Textual."""
