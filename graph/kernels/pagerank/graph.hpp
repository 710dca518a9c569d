// A dynamic weighted undirected graph with exact degrees.
//
// Weights are multiples of 2^-24 and degrees their integer sums, so a removal restores the exact degree.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "neighbours.hpp"

namespace pagerank {

constexpr double weight_unit = 1.0 / (1 << 24);

struct Ends {
    Node u, v;
};

class Graph {
 public:
    std::size_t nodes() const { return neighbours_.size(); }
    std::int64_t edges() const { return edges_; }

    const std::vector<Link>& links(Node node) const { return neighbours_[static_cast<std::size_t>(node)].links(); }
    double degree(Node node) const { return static_cast<double>(degrees_[static_cast<std::size_t>(node)]) * weight_unit; }

    // Bring a node's rows, and then its links, nearer to the processor.
    void fetch(Node node) const {
        __builtin_prefetch(&neighbours_[static_cast<std::size_t>(node)]);
        __builtin_prefetch(&degrees_[static_cast<std::size_t>(node)]);
    }
    void fetch_links(Node node) const { __builtin_prefetch(links(node).data()); }

    bool holds(Node node) const { return node >= 0 && static_cast<std::size_t>(node) < nodes(); }
    float weight(Node u, Node v) const { return holds(u) ? neighbours_[static_cast<std::size_t>(u)].weight(v) : 0.0F; }

    // Allocates every node of the batch before any edge is set: a failed allocation changes nothing.
    void make_room(const Ends* ends, std::size_t count) {
        std::size_t needed = nodes();
        for (const Ends* edge = ends; edge != ends + count; ++edge)
            needed = std::max(needed, static_cast<std::size_t>(std::max(edge->u, edge->v)) + 1);
        if (needed == nodes()) return;
        if (needed > neighbours_.capacity()) {
            const std::size_t roomy = needed + needed / 4;
            neighbours_.reserve(roomy);
            degrees_.reserve(roomy);
        }
        degrees_.resize(needed);
        neighbours_.resize(needed);
    }

    // Sets the weight of an edge; 0 removes it. Cost: O(1) expected (neighbours.hpp).
    void set(Ends edge, float weight) {
        Neighbours& of_u = neighbours_[static_cast<std::size_t>(edge.u)];
        const float before = of_u.weight(edge.v);
        if (before == weight) return;
        of_u.set(edge.v, weight);
        neighbours_[static_cast<std::size_t>(edge.v)].set(edge.u, weight);
        const std::int64_t change = units(weight) - units(before);
        degrees_[static_cast<std::size_t>(edge.u)] += change;
        degrees_[static_cast<std::size_t>(edge.v)] += change;
        edges_ += (weight != 0.0F) - (before != 0.0F);
    }

    std::size_t memory_bytes() const {
        std::size_t bytes = neighbours_.capacity() * sizeof(Neighbours) + degrees_.capacity() * sizeof(std::int64_t);
        for (const Neighbours& some : neighbours_) bytes += some.memory_bytes();
        return bytes;
    }

 private:
    static std::int64_t units(float weight) { return std::llrint(static_cast<double>(weight) / weight_unit); }

    std::vector<Neighbours> neighbours_;
    std::vector<std::int64_t> degrees_;
    std::int64_t edges_ = 0;
};

}  // namespace pagerank
