"""The tables, grouped by subject. Each function takes (frames, context) and returns a TableResult, or a sentence."""
