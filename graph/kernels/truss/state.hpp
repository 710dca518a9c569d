// What the steps of an update share: the graph, the order, and the log of values that changed.
#pragma once

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

    void log(EdgeId edge, std::int32_t before) { changes.emplace_back(edge, before); }

    template <class Visit>
    void for_each_triangle(EdgeId edge, Visit&& visit) const {
        const Ends& ends = order.ends(edge);
        adjacency.for_each_triangle(ends.u, ends.v, visit);
    }
};

}  // namespace truss
