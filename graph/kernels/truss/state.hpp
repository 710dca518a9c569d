// The state that the steps of an update share: the graph, the peel order, and the log of changed values.
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
    std::vector<std::pair<EdgeId, std::int32_t>> changes;  // (edge, its previous value), in the order of the changes

    std::int64_t work = 0;  // number of triangles that updates have listed

    void log(EdgeId edge, std::int32_t before) { changes.emplace_back(edge, before); }

    template <class Visit>
    void for_each_triangle(EdgeId edge, Visit&& visit) const {
        const Ends& ends = order.ends(edge);
        adjacency.for_each_triangle(ends.u, ends.v, visit);
    }

    // Does the same during an update, and counts the triangles in `work`.
    template <class Visit>
    void walk_triangles(EdgeId edge, Visit&& visit) {
        for_each_triangle(edge, [&](EdgeId a, EdgeId b) {
            ++work;
            visit(a, b);
        });
    }
};

}  // namespace truss
