"""Pages: their contents, and how they are written as HTML and as Markdown."""
