// What the steps of an update share: the graph, the order, and the log of values that changed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "adjacency.hpp"
#include "peel_order.hpp"

namespace truss {

struct State {
    explicit State(std::int64_t stride) : order(stride) {}

    Adjacency adjacency;
    PeelOrder order;
    std::vector<std::pair<EdgeId, std::int32_t>> changes;  // (edge, the value before), in the order of the changes

    std::int64_t work = 0;  // triangles that updates have listed so far

    void log(EdgeId edge, std::int32_t before) { changes.emplace_back(edge, before); }

    template <class Visit>
    void for_each_triangle(EdgeId edge, Visit&& visit) const {
        const Ends& ends = order.ends(edge);
        adjacency.for_each_triangle(ends.u, ends.v, visit);
    }

    // The same as part of an update: counted.
    template <class Visit>
    void walk_triangles(EdgeId edge, Visit&& visit) {
        for_each_triangle(edge, [&](EdgeId a, EdgeId b) {
            ++work;
            visit(a, b);
        });
    }
};

}  // namespace truss
