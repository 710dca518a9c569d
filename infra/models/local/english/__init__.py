"""A small grammar of English that finds names, dates, quantities and plain statements without any model.

It has closed word classes, a few hundred verbs, and cues in the names themselves, but no parser or tagger. Text in
other languages still gives its dates, numbers and, in scripts with capitals, its names. Each module reads a text once,
left to right, in time linear in its length, and keeps no state between texts.
"""
