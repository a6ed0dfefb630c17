"""A lock in the forms that papers, archives and supply chains ask for: made of facts in the lock alone."""
