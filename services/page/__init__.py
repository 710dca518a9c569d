"""The page for browsers: its sources in TypeScript, its build in `dist`, and the files as HTTP serves them."""
