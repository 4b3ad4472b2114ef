"""How it is sent: the load generator under the questions of `loadtests/`, and what it confesses of itself."""
