"""Requests out, answers back: signing, HTTP, boto3."""
