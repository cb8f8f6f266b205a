"""Never worse than the rule: is this what was trained for, and is it better here? If not, the rule decides."""
