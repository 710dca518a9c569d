"""Pages of HTML as Markdown: their content, their tables, and how deep they are nested."""
