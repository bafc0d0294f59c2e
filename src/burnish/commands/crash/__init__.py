"""What `burnish drill` and `burnish rerun` rehearse and compare."""
