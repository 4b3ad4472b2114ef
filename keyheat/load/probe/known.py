"""Endpoints that are not probed because it is known what they can do: DynamoDB in AWS, and one of ours."""

from http.client import HTTPException
from typing import Final

from keyheat.load.transport.target import Target, health
from keyheat.runs.capabilities import QUESTIONS, Capabilities, CapabilityFinding

DOCUMENTED: Final = CapabilityFinding(answer="yes", seen="as AWS documents it")
OURS: Final = CapabilityFinding(answer="yes", seen="as its own tests hold it to")


def known(target: Target) -> Capabilities | None:
    """What is known of the target without asking its tables; None where it is another one."""
    if target.aws:
        findings = dict.fromkeys(QUESTIONS, DOCUMENTED)
        return Capabilities(source="known", product="DynamoDB in AWS", dynamodb=True, findings=findings)
    if _is_ours(target):
        return Capabilities(
            source="known", product="Keyheat's local endpoint", findings=dict.fromkeys(QUESTIONS, OURS)
        )
    return None


def _is_ours(target: Target) -> bool:
    try:
        return b'"scale"' in health(target)
    except (OSError, HTTPException, ValueError):
        return False
