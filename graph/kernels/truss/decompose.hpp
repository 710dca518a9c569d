// Static truss decomposition by peeling (Cohen 2008), with the buckets of Batagelj & Zaversnik (2003).
//
// Updates maintain the order in which the edges are peeled here, and both counts of every edge. Cost: O(sum over edges of
// the smaller degree). Memory in addition to the result: 16 bytes per edge, freed at the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "state.hpp"

namespace truss {

class Decompose {
 public:
    explicit Decompose(State& state) : state_(state), order_(state.order) {}

    // Decomposes the graph of these edges into an empty state. The edges are sorted and distinct, with u < v.
    void run(const std::vector<Ends>& edges) {
        load(edges);
        count_triangles();
        sort_by_support();
        for (at_ = 0; at_ < sorted_.size(); ++at_) peel(sorted_[at_]);
    }

 private:
    void load(const std::vector<Ends>& edges) {
        if (edges.empty()) return;
        Node nodes = 0;
        for (const Ends& ends : edges) nodes = std::max(nodes, ends.v + 1);
        std::vector<std::int32_t> degrees(static_cast<std::size_t>(nodes), 0);
        for (const Ends& ends : edges) ++degrees[ends.u], ++degrees[ends.v];
        state_.adjacency.reserve(degrees);
        order_.reserve(static_cast<std::int64_t>(edges.size()));
        for (const Ends& ends : edges) state_.adjacency.append(ends.u, ends.v, order_.create(ends.u, ends.v));
    }

    // Counts each triangle once, at its node of the lowest degree (Chiba & Nishizeki 1985; ties by number).
    void count_triangles() {
        const Adjacency& adjacency = state_.adjacency;
        std::vector<EdgeId> edge_to(static_cast<std::size_t>(adjacency.nodes()), none);
        for (Node node = 0; node < adjacency.nodes(); ++node) {
            for_each_ahead(node, [&](Node neighbour, EdgeId edge) { edge_to[neighbour] = edge; });
            for_each_ahead(node, [&](Node neighbour, EdgeId edge) {
                for_each_ahead(neighbour, [&](Node third, EdgeId opposite) {
                    if (edge_to[third] == none) return;
                    ++order_[edge].later, ++order_[opposite].later, ++order_[edge_to[third]].later;
                });
            });
            for_each_ahead(node, [&](Node neighbour, EdgeId) { edge_to[neighbour] = none; });
        }
    }

    template <class Visit>
    void for_each_ahead(Node node, Visit&& visit) const {
        const Adjacency& adjacency = state_.adjacency;
        const std::int32_t degree = adjacency.degree(node);
        for (std::int32_t i = 0; i < degree; ++i) {
            const Node other = adjacency.neighbour_at(node, i);
            const std::int32_t other_degree = adjacency.degree(other);
            if (other_degree > degree || (other_degree == degree && other > node)) visit(other, adjacency.edge_at(node, i));
        }
    }

    void sort_by_support() {
        const auto count = static_cast<std::size_t>(order_.records());
        std::int32_t most = 0;
        for (std::size_t e = 0; e < count; ++e) most = std::max(most, order_[static_cast<EdgeId>(e)].later);
        start_.assign(static_cast<std::size_t>(most) + 2, 0);
        for (std::size_t e = 0; e < count; ++e) ++start_[order_[static_cast<EdgeId>(e)].later + 1];
        std::partial_sum(start_.begin(), start_.end(), start_.begin());
        sorted_.resize(count);
        place_.resize(count);
        std::vector<std::size_t> next = start_;
        for (std::size_t e = 0; e < count; ++e) {
            place_[e] = static_cast<std::int32_t>(next[order_[static_cast<EdgeId>(e)].later]++);
            sorted_[place_[e]] = static_cast<EdgeId>(e);
        }
    }

    // Removes the edge at the current level. `later` decreases to its final value as the first edges of its triangles are
    // peeled; trussness 0: not peeled yet.
    void peel(EdgeId edge) {
        Record& record = order_[edge];
        level_ = std::max(level_, record.later + 2);
        if (level_ > 2)
            state_.for_each_triangle(edge, [&](EdgeId a, EdgeId b) {
                const std::int32_t at_a = order_[a].trussness, at_b = order_[b].trussness;
                record.support += (at_a == 0 || at_a == level_) && (at_b == 0 || at_b == level_);
                if (at_a == 0 && at_b == 0) lose_triangle(a), lose_triangle(b);
            });
        order_.link_last(edge, level_);
    }

    // Moves the edge one bucket down in O(1): it swaps with the first edge of its bucket, and the bucket then starts after it.
    void lose_triangle(EdgeId edge) {
        const std::int32_t support = order_[edge].later--;
        const std::size_t first = std::max(start_[support], at_ + 1);
        const EdgeId displaced = sorted_[first];
        std::swap(sorted_[first], sorted_[place_[edge]]);
        place_[displaced] = place_[edge];
        place_[edge] = static_cast<std::int32_t>(first);
        start_[support] = first + 1;
    }

    State& state_;
    PeelOrder& order_;
    std::int32_t level_ = 2;
    std::size_t at_ = 0;
    std::vector<std::size_t> start_;
    std::vector<EdgeId> sorted_;
    std::vector<std::int32_t> place_;
};

}  // namespace truss
