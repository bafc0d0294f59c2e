"""Jobs on Kubernetes."""
