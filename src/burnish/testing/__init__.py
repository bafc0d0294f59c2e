"""What tests of Burnish and of its plug-ins share: tiny models made offline."""
