"""The figures, grouped by subject. Each function takes (frames, context) and returns a Figure, or a sentence."""
