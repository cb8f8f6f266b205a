"""HTTP for the service: a typed route table, problem+json, bearer tokens, and the handlers by subject.

aiohttp carries the bytes; what it lacks (OpenAPI 3.1 from typed routes, RFC 9457 errors, strict JSON) is here, small
enough to read in one sitting. Nothing here decides anything about pools.
"""
