"""Delta tables without a JVM: what is live, what files hold, commits of the driver."""
