// Self-check of a decomposition without a reference implementation: it recounts everything from the adjacency.
//
// Two facts prove that every value is exact (see peel_order.hpp): peeling in the stored order removes each edge at its own
// level, and each edge closes enough triangles at its level. It also checks the stored counts, the lists of the levels and
// the adjacency, which later updates use. Cost: that of listing all triangles.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "state.hpp"

namespace truss {

class Audit {
 public:
    explicit Audit(const State& state) : state_(state), order_(state.order) {}

    std::vector<std::string> whole() {
        found_.clear();
        check_levels();
        for (EdgeId edge = 0; edge < order_.records(); ++edge)
            if (order_.is_live(edge)) check_edge(edge);
        return std::move(found_);
    }

    std::vector<std::string> of(const std::vector<Ends>& edges) {
        found_.clear();
        for (const Ends& ends : edges) {
            const EdgeId edge = state_.adjacency.find(ends.u, ends.v);
            if (edge == none)
                found_.push_back(name(ends) + " is not there");
            else
                check_edge(edge);
        }
        return std::move(found_);
    }

 private:
    void report(EdgeId edge, const std::string& what) {
        const std::string value = std::to_string(order_[edge].trussness);
        found_.push_back(name(order_.ends(edge)) + " of trussness " + value + " " + what);
    }

    void check_edge(EdgeId edge) {
        const Record& record = order_[edge];
        const Ends& ends = order_.ends(edge);
        if (state_.adjacency.find(ends.u, ends.v) != edge) report(edge, "is missing from the adjacency");
        std::int32_t later = 0, support = 0;
        state_.for_each_triangle(edge, [&](EdgeId a, EdgeId b) {
            later += order_.before(record, order_[a]) && order_.before(record, order_[b]);
            support += std::min(order_[a].trussness, order_[b].trussness) >= record.trussness;
        });
        if (later > record.trussness - 2)
            report(edge, "has " + std::to_string(later) + " later triangles: its value is too low");
        if (support < record.trussness - 2)
            report(edge, "closes " + std::to_string(support) + " triangles at its level: its value is too high");
        if (later != record.later || support != record.support) report(edge, "has counts that are out of date");
        if (record.slot != none) report(edge, "still has a place in the scratch of an update");
    }

    void check_levels() {
        std::vector<std::int64_t> missing(static_cast<std::size_t>(order_.highest_level()) + 1, 0);
        for (EdgeId edge = 0; edge < order_.records(); ++edge) {
            const std::int32_t level = order_[edge].trussness;
            if (!order_.is_live(edge) || level == 2) continue;
            if (level < 2 || level > order_.highest_level())
                report(edge, "stands in no level");
            else
                ++missing[level];
        }
        for (std::int32_t level = 3; level <= order_.highest_level(); ++level) check_level(level, missing[level]);
    }

    void check_level(std::int32_t level, std::int64_t expected) {
        EdgeId previous = none;
        for (EdgeId edge = order_.level(level).head; edge != none && expected >= 0; edge = order_[edge].next) {
            if (order_[edge].trussness != level) report(edge, "stands in the list of level " + std::to_string(level));
            if (order_[edge].previous != previous) report(edge, "is linked wrongly");
            if (previous != none && order_[previous].label >= order_[edge].label)
                report(edge, "has a label out of order");
            previous = edge;
            --expected;
        }
        if (expected != 0 || order_.level(level).tail != previous)
            found_.push_back("the list of level " + std::to_string(level) + " does not hold its edges");
    }

    const State& state_;
    const PeelOrder& order_;
    std::vector<std::string> found_;
};

}  // namespace truss
