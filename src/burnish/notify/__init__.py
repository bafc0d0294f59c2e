"""Tells people and programs how a run goes: Slack, webhooks, and what apprise knows."""
