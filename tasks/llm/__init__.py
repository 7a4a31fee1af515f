"""What decides the bytes of a call and its reply: calls, prompts, requests, structured replies."""
