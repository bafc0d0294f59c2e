"""What `import burnish` offers to programs and notebooks: the verbs of the command line, as functions over values."""
