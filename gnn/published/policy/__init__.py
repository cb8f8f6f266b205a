"""The learned policy of the published cluster: what it is asked and sees, what it answers, and its teacher."""
