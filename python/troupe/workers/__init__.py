"""What the process that forks workers is made of, beside `troupe.worker`."""
