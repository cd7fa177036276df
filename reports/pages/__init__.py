"""Pages: what they say, and how they are written as HTML and as Markdown."""
