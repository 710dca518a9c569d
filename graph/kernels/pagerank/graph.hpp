// A dynamic weighted undirected graph with exact degrees.
//
// Weights are multiples of 2^-24 and degrees their integer sums, so a removal restores the exact degree.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "neighbours.hpp"
#include "per_node.hpp"

namespace pagerank {

constexpr double weight_unit = 1.0 / (1 << 24);

struct Ends {
    Node u, v;
};

class Graph {
 public:
    Room room() const { return neighbours_.room(); }
    std::int64_t edges() const { return edges_; }

    LinkSpan links(Node node) const { return neighbours_[node].links(); }
    double degree(Node node) const { return static_cast<double>(degrees_[node]) * weight_unit; }

    // Bring a node's rows, and then its links, nearer to the processor.
    void fetch(Node node) const {
        __builtin_prefetch(&neighbours_[node]);
        __builtin_prefetch(&degrees_[node]);
    }
    void fetch_links(Node node) const { __builtin_prefetch(links(node).data()); }

    bool holds(Node node) const { return room().holds(node); }
    float weight(Node u, Node v) const { return holds(u) ? neighbours_[u].weight(v) : 0.0F; }

    // Allocates every node of the batch before any edge is set: a failed allocation changes nothing.
    void make_room(const Ends* ends, std::size_t count) {
        Room needed = room();
        for (const Ends* edge = ends; edge != ends + count; ++edge) {
            needed.admit(edge->u);
            needed.admit(edge->v);
        }
        if (needed == room()) return;
        neighbours_.reserve(needed);
        degrees_.reserve(needed);
        degrees_.extend(needed);
        neighbours_.extend(needed);
    }

    // Sets the weight of an edge; 0 removes it. Cost: O(1) expected (neighbours.hpp).
    void set(Ends edge, float weight) {
        Neighbours& of_u = neighbours_[edge.u];
        const float before = of_u.weight(edge.v);
        if (before == weight) return;
        of_u.set(edge.v, weight);
        neighbours_[edge.v].set(edge.u, weight);
        const std::int64_t change = units(weight) - units(before);
        degrees_[edge.u] += change;
        degrees_[edge.v] += change;
        edges_ += (weight != 0.0F) - (before != 0.0F);
    }

    std::size_t memory_bytes() const {
        std::size_t bytes = neighbours_.memory_bytes() + degrees_.memory_bytes();
        neighbours_.each([&](const Neighbours& some) { bytes += some.memory_bytes(); });
        return bytes;
    }

 private:
    static std::int64_t units(float weight) { return std::llrint(static_cast<double>(weight) / weight_unit); }

    PerNode<Neighbours> neighbours_;
    PerNode<std::int64_t> degrees_;
    std::int64_t edges_ = 0;
};

}  // namespace pagerank
