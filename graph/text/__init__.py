"""Values in document text: dates, places of passages, quotations, and counts of tokens."""
