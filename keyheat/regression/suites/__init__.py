"""What a suite's file says, and the runs that it asks for."""
