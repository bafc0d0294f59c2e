"""What `burnish new` writes."""
