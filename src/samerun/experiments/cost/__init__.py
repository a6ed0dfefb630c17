"""`samerun cost`: what each control costs, measured step by step in turns."""
