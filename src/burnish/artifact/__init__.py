"""What a run leaves behind: a folder that predicts, and tests itself before it does."""
