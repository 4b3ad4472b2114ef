"""What a verb answers, as one value, and its renderers: text, HTML, Markdown, JSON."""
