"""How a world of the serverless mix is drawn: everything seeded, nothing of it known to a policy beforehand."""
