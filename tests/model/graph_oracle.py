"""The graph of its live documents alone: sets, counters and networkx, all pairs judged, no state kept.

It writes the canonical lines of `graph.digest` straight from the extractions, so it shares no step with the write model
but normalisation and the verdict on a pair of labels.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

import networkx as nx

from graphtide.graph.consolidation.signed_counts import label_key, predicate_key
from graphtide.graph.identity import chunk_id, entity_id
from graphtide.graph.records import ChunkContribution, Extraction
from graphtide.graph.resolution.pair_scoring import LabelView
from graphtide.graph.vector_sum import VectorSum
from tests.model.resolution_oracle import NaiveResolver

LabelKey = tuple[str, str]
Triple = tuple[LabelKey, str, LabelKey]


class GraphOracle:
    """The graph of some live extractions, recomputed from nothing."""

    def __init__(self, live: Iterable[Extraction]) -> None:
        self.live = sorted(live, key=lambda each: each.doc_id)
        self.mentions: Counter[LabelKey] = Counter()
        self.forms: dict[LabelKey, Counter[str]] = {}
        self.sums: dict[LabelKey, VectorSum] = {}
        self.triples: Counter[Triple] = Counter()
        self.weights: Counter[Triple] = Counter()
        for _, _, unit in self.units():
            keys = [label_key(mention) for mention in unit.mentions]
            for key, mention in zip(keys, unit.mentions, strict=True):
                self.mentions[key] += 1
                self.forms.setdefault(key, Counter())[mention.name] += 1
                self.sums.setdefault(key, VectorSum()).add(mention.vector)
            for fact in unit.facts:
                triple = (keys[fact.subject], predicate_key(fact.predicate), keys[fact.object])
                self.triples[triple] += 1
                self.weights[triple] += fact.weight_milli
        keys = sorted(self.sums)
        resolver = NaiveResolver()
        resolver.update({n: LabelView(*key, self.sums[key].mean()) for n, key in enumerate(keys)})
        clusters = {frozenset(keys[n] for n in resolver.cluster_of(label)) for label in range(len(keys))}
        self.links = [(keys[a], keys[b], rule) for a, b, rule, _, _ in resolver.links()]
        self.entity = {key: entity_id(cluster) for cluster in clusters for key in cluster}
        self.clusters = {entity_id(cluster): sorted(cluster) for cluster in clusters}

    def units(self) -> Iterator[tuple[Extraction, int, ChunkContribution]]:
        for extraction in self.live:
            for place, unit in enumerate(extraction.units):
                yield extraction, place, unit

    def lines(self) -> list[str]:
        """Return every canonical line of the graph, sorted."""
        return sorted(json.dumps(fields, ensure_ascii=False, separators=(",", ":")) for fields in self._rows())

    def _rows(self) -> Iterator[tuple[object, ...]]:
        yield from self._document_rows()
        for key, count in self.mentions.items():
            yield ("label", *key, self.entity[key], count)
        for triple, count in self.triples.items():
            yield ("statement", *triple, count, self.weights[triple])
        for a, b, rule in self.links:
            yield ("same-as", sorted((a, b)), rule)
        for name, labels in self.clusters.items():
            forms: Counter[str] = Counter()
            types: Counter[str] = Counter()
            for key in labels:
                forms += self.forms[key]
                if key[1]:
                    types[key[1]] += self.mentions[key]
            count = sum(self.mentions[key] for key in labels)
            yield ("entity", name, _commonest(forms), _commonest(types), labels, count)
        yield from self._edge_rows()

    def _document_rows(self) -> Iterator[tuple[object, ...]]:
        for extraction in self.live:
            names: list[str] = []
            seen: Counter[str] = Counter()
            for place, unit in enumerate(extraction.units):
                name = chunk_id(extraction.doc_id, unit.text, seen[unit.text])
                seen[unit.text] += 1
                names.append(name)
                yield ("chunk", name, extraction.doc_id, place, unit.text)
                keys = [label_key(mention) for mention in unit.mentions]
                counts: Counter[tuple[object, ...]] = Counter()
                for key, mention in zip(keys, unit.mentions, strict=True):
                    counts["mention", key, name, mention.name, mention.description] += 1
                shown: Counter[tuple[tuple[object, ...], str, str, int, str, str]] = Counter()
                for fact in unit.facts:
                    triple = (keys[fact.subject], predicate_key(fact.predicate), keys[fact.object])
                    shown[
                        triple, fact.description, fact.sentence, fact.weight_milli, fact.valid_from, fact.valid_to
                    ] += 1
                yield from ((*row, count) for row, count in counts.items())
                for (ends, text, sentence, weight, since, till), count in shown.items():
                    yield ("evidence", *ends, name, text, sentence, weight, count, since, till)
            info = extraction.info
            yield ("document", extraction.doc_id, info.title, info.source, info.occurred_at, info.metadata, names)

    def _edge_rows(self) -> Iterator[tuple[object, ...]]:
        weights: Counter[tuple[str, str]] = Counter()
        for (subject, _, object_), count in self.triples.items():
            ends = sorted((self.entity[subject], self.entity[object_]))
            if ends[0] != ends[1]:
                weights[ends[0], ends[1]] += count
        graph = nx.Graph(list(weights))
        trussness: dict[tuple[str, ...], int] = {}
        k = 2
        while graph.number_of_edges():
            for edge in graph.edges:
                trussness[tuple(sorted(edge))] = k
            k += 1
            graph = nx.k_truss(graph, k)
        for pair, weight in weights.items():
            yield ("edge", list(pair), weight, trussness[pair])


def _commonest(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name)) if counts else ""
