"""What `burnish runs compare` computes."""
