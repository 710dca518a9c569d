// Insertion, second step: edges with later > trussness - 2 violate the order and are raised, level by level.
//
// This is the order-based insertion of Zhang & Yu (SIGMOD 2019), extended from one edge to any set of violating edges. An
// edge that is raised from a level can only violate the next one, so each level is processed once, upwards. The scan of
// level k visits, by a heap on the order, the violating edges and those to which a triangle was handed:
// - an edge with more than k - 2 later triangles becomes a candidate: it counts as above the level, and each of its
//   triangles is handed to that triangle's next edge in the order;
// - any other edge settles: it keeps trussness k, and the candidates in the triangles handed to it lose those. A candidate
//   with fewer than k - 1 triangles is evicted: it is placed directly after the settled edge, and so on in cascade;
// - candidates that are left when the heap is empty have trussness k + 1 or more. They are placed at the start of level
//   k + 1, peeled among themselves so that few violate that level; those that do are processed next.
// `later` is always exact: for a candidate it is the number of its remaining triangles. Cost: the triangles of the
// candidates, and O(log) heap steps per visited edge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "state.hpp"

namespace truss {

class Raise {
 public:
    explicit Raise(State& state) : state_(state), order_(state.order) {}

    // Restores the order after `later` of these edges has increased. Reorders and empties the vector.
    void run(std::vector<EdgeId>& violating) {
        std::sort(violating.begin(), violating.end(),
                  [&](EdgeId a, EdgeId b) { return order_[a].trussness < order_[b].trussness; });
        std::size_t done = 0;
        raised_.clear();
        while (done < violating.size() || !raised_.empty()) {
            level_ = raised_.empty() ? order_[violating[done]].trussness : level_ + 1;
            begin_level();
            for (EdgeId edge : raised_) touch(edge);
            for (; done < violating.size() && order_[violating[done]].trussness == level_; ++done) touch(violating[done]);
            scan();
            finish_level();
        }
        violating.clear();
    }

 private:
    enum class Standing : std::uint8_t { waiting, candidate, settled, evicted, placed };

    struct Touched {
        EdgeId edge;
        Standing standing = Standing::waiting;
        std::int32_t handed = none;  // the first triangle handed to it
        std::int32_t first = 0, last = 0;  // its triangles, once a candidate
    };
    struct Handed {
        EdgeId candidate, other;
        std::int32_t next;
    };
    struct Pair {
        EdgeId a = none, b = none;
    };

    void begin_level() {
        touched_.clear();
        handed_.clear();
        triangles_.clear();
        heap_.clear();
        candidates_.clear();
    }

    bool is(EdgeId edge, Standing standing) const {
        const std::int32_t slot = order_[edge].slot;
        return slot != none && touched_[slot].standing == standing;
    }

    Touched& touch(EdgeId edge) {
        Record& record = order_[edge];
        if (record.slot == none) {
            record.slot = static_cast<std::int32_t>(touched_.size());
            touched_.push_back({edge});
            order_.prefetch_ends(edge);
            heap_.push_back(edge);
            std::push_heap(heap_.begin(), heap_.end(), later_first());
        }
        return touched_[record.slot];
    }

    struct LaterFirst {
        const PeelOrder& order;
        bool operator()(EdgeId a, EdgeId b) const { return order[a].label > order[b].label; }
    };
    LaterFirst later_first() const { return {order_}; }

    void scan() {
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), later_first());
            const EdgeId edge = heap_.back();
            heap_.pop_back();
            if (order_[edge].later > level_ - 2)
                become_candidate(edge);
            else
                settle(edge);
        }
    }

    // Returns true if the edge counts for the triangles of an edge at `label`: it is a candidate, or later in the order.
    bool is_alive(EdgeId edge, std::int64_t label) const {
        const Record& record = order_[edge];
        if (record.trussness != level_) return record.trussness > level_;
        if (record.slot == none) return record.label > label;
        const Standing standing = touched_[record.slot].standing;
        return standing == Standing::candidate || (standing == Standing::waiting && record.label > label);
    }

    void become_candidate(EdgeId edge) {
        const std::int32_t slot = order_[edge].slot;
        const std::int64_t label = order_[edge].label;
        touched_[slot].standing = Standing::candidate;
        const std::size_t first = triangles_.size();
        touched_[slot].first = static_cast<std::int32_t>(first);
        state_.walk_triangles(edge, [&](EdgeId a, EdgeId b) {
            triangles_.push_back({a, b});
            order_.prefetch(a);
            order_.prefetch(b);
        });
        std::size_t kept = first;
        for (std::size_t i = first; i < triangles_.size(); ++i)
            if (is_alive(triangles_[i].a, label) && is_alive(triangles_[i].b, label)) triangles_[kept++] = triangles_[i];
        triangles_.resize(kept);
        touched_[slot].last = static_cast<std::int32_t>(triangles_.size());
        candidates_.push_back(edge);
        for (std::int32_t i = touched_[slot].first; i < touched_[slot].last; ++i) {
            const auto [a, b] = triangles_[i];
            const EdgeId next = holder(a, b);
            if (next != none) hand(next, edge, next == a ? b : a);
        }
    }

    // Returns the edge that counts the triangle: the first of those that are of the level and are not candidates.
    EdgeId holder(EdgeId a, EdgeId b) const {
        const bool a_may = order_[a].trussness == level_ && !is(a, Standing::candidate);
        const bool b_may = order_[b].trussness == level_ && !is(b, Standing::candidate);
        if (a_may && b_may) return order_[a].label < order_[b].label ? a : b;
        return a_may ? a : b_may ? b : none;
    }

    void hand(EdgeId to, EdgeId candidate, EdgeId other) {
        Touched& receiver = touch(to);
        ++order_[to].later;
        handed_.push_back({candidate, other, receiver.handed});
        receiver.handed = static_cast<std::int32_t>(handed_.size()) - 1;
    }

    void settle(EdgeId edge) {
        touched_[order_[edge].slot].standing = Standing::settled;
        const std::int64_t label = order_[edge].label;
        evicted_.clear();
        for (std::int32_t i = touched_[order_[edge].slot].handed; i != none; i = handed_[i].next) {
            const auto [candidate, other, next] = handed_[i];
            if (!is(candidate, Standing::candidate) || !is_alive(other, label)) continue;
            lose_triangle(candidate);
            if (is(other, Standing::candidate)) lose_triangle(other);
        }
        cascade(label);
        if (evicted_.empty()) return;
        for (EdgeId gone : evicted_) order_.unlink(gone);
        order_.link_behind(edge, evicted_);
    }

    // Removes a triangle of the candidate, and evicts it, once, if it has too few for level k + 1.
    void lose_triangle(EdgeId candidate) {
        if (order_[candidate].later-- == level_ - 1) evicted_.push_back(candidate);
    }

    void cascade(std::int64_t label) {
        for (std::size_t i = 0; i < evicted_.size(); ++i) {
            const EdgeId gone = evicted_[i];
            Touched& touched = touched_[order_[gone].slot];
            touched.standing = Standing::evicted;
            for (std::int32_t t = touched.first; t < touched.last; ++t) {
                const auto [a, b] = triangles_[t];
                if (!is_alive(a, label) || !is_alive(b, label)) continue;
                const EdgeId counted_by = holder(a, b);
                if (counted_by != none) --order_[counted_by].later;
                if (is(a, Standing::candidate)) lose_triangle(a);
                if (is(b, Standing::candidate)) lose_triangle(b);
            }
        }
    }

    void finish_level() {
        place_survivors();
        for (const Touched& touched : touched_) order_[touched.edge].slot = none;
        for (auto edge = placed_.rbegin(); edge != placed_.rend(); ++edge) {
            order_.unlink(*edge);
            state_.log(*edge, level_);
            order_.link_first(*edge, level_ + 1);
        }
    }

    // Orders the remaining candidates (into placed_), and lists those that violate level k + 1 (into raised_).
    void place_survivors() {
        placed_.clear();
        raised_.clear();
        for (EdgeId edge : candidates_)
            if (is(edge, Standing::candidate)) placed_.push_back(edge);
        candidates_.swap(placed_);
        placed_.clear();
        for (EdgeId edge : candidates_) order_[edge].support = order_[edge].later;
        for (EdgeId edge : candidates_)
            if (order_[edge].later < level_) placed_.push_back(edge);
        std::size_t followed = 0;
        for (; followed < placed_.size(); ++followed) hand_on(placed_[followed]);
        for (EdgeId stuck : candidates_) {
            if (is(stuck, Standing::placed)) continue;
            raised_.push_back(stuck);
            placed_.push_back(stuck);
            for (; followed < placed_.size(); ++followed) hand_on(placed_[followed]);
        }
    }

    // Takes the triangles of which the placed edge is the first: their other edges count one less, and may be placed next.
    void hand_on(EdgeId edge) {
        Touched& touched = touched_[order_[edge].slot];
        touched.standing = Standing::placed;
        for (std::int32_t t = touched.first; t < touched.last; ++t) {
            const auto [a, b] = triangles_[t];
            if (!stands_above(a) || !stands_above(b)) continue;
            for (EdgeId other : {a, b}) {
                Record& record = order_[other];
                if (record.trussness == level_ + 1) ++record.support;
                if (record.trussness == level_ && --record.later == level_ - 1) placed_.push_back(other);
            }
        }
    }

    bool stands_above(EdgeId edge) const { return order_[edge].trussness > level_ || is(edge, Standing::candidate); }

    State& state_;
    PeelOrder& order_;
    std::int32_t level_ = 0;
    std::vector<Touched> touched_;
    std::vector<Handed> handed_;
    std::vector<Pair> triangles_;
    std::vector<EdgeId> heap_, candidates_, evicted_, placed_, raised_;
};

}  // namespace truss
