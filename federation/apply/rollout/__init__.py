"""Work over several members: written down first, added before anything is taken away, undone or finished after."""
