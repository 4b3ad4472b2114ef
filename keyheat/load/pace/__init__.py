"""When a request is sent: closed and open loop, load shapes, retries."""
