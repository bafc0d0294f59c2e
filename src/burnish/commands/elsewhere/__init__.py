"""What leaves this machine: jobs, how they are launched, and deployments."""
