"""Getting bytes to a disk or a bucket so that they are there after a crash."""
