"""A job becomes processes somewhere."""
