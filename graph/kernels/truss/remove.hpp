// Deletion: edges that lose too many triangles are lowered to the highest level that their triangles support.
//
// An edge whose support falls below trussness - 2 gets the h-index of its triangles (the largest k at which it closes k - 2
// of them with both other edges at k or above). It is appended to that level, and the edges that it supported are checked
// next. The fixed point from above is exact (Sariyuce et al. 2018, h-index characterisation), and an edge at the end of its
// level has fewer later triangles than the next level requires, so the order is valid without a search. Cost: the triangles
// of the removed and lowered edges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "state.hpp"

namespace truss {

class Remove {
 public:
    explicit Remove(State& state) : state_(state), order_(state.order) {}

    // Removes existing, distinct edges, and frees their records.
    void run(const std::vector<EdgeId>& edges) {
        for (EdgeId edge : edges) take_out(edge);
        while (!weak_.empty()) {
            const EdgeId edge = weak_.back();
            weak_.pop_back();
            if (order_.is_live(edge) && order_[edge].support < order_[edge].trussness - 2) sink(edge);
        }
    }

 private:
    struct Pair {
        EdgeId a, b;
    };

    void take_out(EdgeId edge) {
        const std::int32_t level = order_[edge].trussness;
        if (level > 2)
            state_.walk_triangles(edge, [&](EdgeId a, EdgeId b) { lose_triangle(edge, a, b); });
        order_.unlink(edge);
        state_.adjacency.erase(order_.ends(edge).u, order_.ends(edge).v);
        order_.destroy(edge);
    }

    void lose_triangle(EdgeId edge, EdgeId a, EdgeId b) {
        const Record &gone = order_[edge], &one = order_[a], &other = order_[b];
        const EdgeId first = order_.before(one, other) ? a : b;
        if (order_.before(order_[first], gone)) --order_[first].later;
        if (one.trussness <= std::min(gone.trussness, other.trussness)) lose_support(a);
        if (other.trussness <= std::min(gone.trussness, one.trussness)) lose_support(b);
    }

    void lose_support(EdgeId edge) {
        Record& record = order_[edge];
        if (record.support-- == record.trussness - 2) weak_.push_back(edge);
    }

    void sink(EdgeId edge) {
        const std::int32_t before = order_[edge].trussness;
        triangles_.clear();
        state_.walk_triangles(edge, [&](EdgeId a, EdgeId b) { triangles_.push_back({a, b}); });
        const std::int32_t level = h_index(before - 1);
        release_triangles(edge, before, level);
        order_.unlink(edge);
        state_.log(edge, before);
        order_.link_last(edge, level);
    }

    // Returns the largest k <= limit at which k - 2 of the triangles have both edges at k or above.
    std::int32_t h_index(std::int32_t limit) {
        at_level_.assign(static_cast<std::size_t>(limit) + 1, 0);
        for (const auto [a, b] : triangles_) ++at_level_[std::min({order_[a].trussness, order_[b].trussness, limit})];
        std::int32_t level = limit, above = at_level_[limit];
        while (level > 2 && above < level - 2) above += at_level_[--level];
        return level;
    }

    // Removes the edge from the counts of its triangles' other edges, and counts its own at the end of the lower level.
    void release_triangles(EdgeId edge, std::int32_t before, std::int32_t level) {
        Record& record = order_[edge];
        record.later = record.support = 0;
        for (const auto [a, b] : triangles_) {
            const std::int32_t at_a = order_[a].trussness, at_b = order_[b].trussness;
            const EdgeId first = order_.before(order_[a], order_[b]) ? a : b;
            if (std::min(at_a, at_b) > level) {
                ++record.later;
                if (order_.before(order_[first], record)) --order_[first].later;
            }
            record.support += std::min(at_a, at_b) >= level;
            if (at_a > level && at_a <= before && at_b >= at_a) lose_support(a);
            if (at_b > level && at_b <= before && at_a >= at_b) lose_support(b);
        }
    }

    State& state_;
    PeelOrder& order_;
    std::vector<EdgeId> weak_;
    std::vector<Pair> triangles_;
    std::vector<std::int32_t> at_level_;
};

}  // namespace truss
