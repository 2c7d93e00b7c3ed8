"""How seeds are made: HMAC_DRBG (SP 800-90A) and the construction around it."""
