"""Who we are to a cluster at this moment: tokens, certificates and plug-ins, renewed in time."""
