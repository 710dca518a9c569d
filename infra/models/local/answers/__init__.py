"""Extractive answers: units of text, the question's kind and words, scores, support, and the choice of quotations.

    words.py          keys of words: the form in which a word is compared
    thesaurus.py      words of one meaning, and the words that an answer type implies
    values/           typed values in a text: dates, quantities, places, names
    units.py          sentences and table rows with their context
    segmentation.py   makes them of passages
    documentation.py  forms of documentation: instructions, definitions, lists of changes
    questions/        the kind of a question, its terms, dates and options
    matching/         scores of units: covered terms, type, similarity
    succession.py     units that a later unit replaces
    revaluing.py      sentences that say to what a quantity or a day changes
    choosing/         the strategies: one unit, two hops, a comparison, a list, a summary
    support.py        the refusal of unsupported answers

Invariants: everything is deterministic, and linear in the length of the context.
"""
