"""Delta tables as their log and files have them, without a JVM: what is live, what files hold, commits of the driver's."""
