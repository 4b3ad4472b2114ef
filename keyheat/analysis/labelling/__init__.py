"""From throttled moments to labels: candidates, the grades that speak of them, the rules."""
