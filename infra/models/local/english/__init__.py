"""A small grammar of English, enough to find names, dates, quantities and plain statements without any model.

Not a parser and not a tagger: closed word classes, a few hundred verbs, and cues in the names themselves. Text in
other languages still gives its dates, numbers and, where the script has capitals, its names. Each module reads a text
once, left to right, in time linear in its length, and keeps no state between texts.
"""
