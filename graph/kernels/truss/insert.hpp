// Insertion, first step: placement of a batch of new edges in the peel order.
//
// Each triangle of the new edges is enumerated once, also those shared between them. Old edges that were in no triangle
// join the batch, because all their triangles are new. The batch is then peeled while every other edge keeps its
// trussness, that is, leaves the graph after its level. The result is the best lower bound for each edge of the batch; at
// the end of its level in the order of peeling it has at most trussness - 2 later triangles. So no edge of the batch
// violates the order; an old edge can, if it is the first edge of a new triangle. Raise repairs those. Cost: the triangles
// of the batch and a sort of them, plus O(batch) per level at which something changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "raise.hpp"
#include "state.hpp"

namespace truss {

class Insert {
 public:
    explicit Insert(State& state) : state_(state), order_(state.order), raise_(state) {}

    // Places new edges, which are in the adjacency and in no list, with trussness 0.
    void run(const std::vector<EdgeId>& edges) {
        members_.clear();
        triangles_.clear();
        for (EdgeId edge : edges) join(edge, 0);
        enumerate(static_cast<std::int32_t>(edges.size()));
        peel();
        count_support();
        for (const Member& member : members_) order_[member.edge].slot = none;
        if (!violating_.empty()) raise_.run(violating_);
    }

 private:
    static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

    struct Member {
        EdgeId edge;
        std::int32_t triangles = none;  // first of a linked list of 3 * triangle + corner
        std::int32_t alive = 0;
    };
    struct Corner {
        std::int32_t slot;  // slot of the new edge
        EdgeId a, b;
    };
    struct Triangle {
        EdgeId edges[3];
        std::int32_t next[3];
        std::int32_t leaves_after;  // the level at which its first old edge leaves, or never
        bool dead;
    };

    void join(EdgeId edge, std::int32_t trussness_before) {
        Record& record = order_[edge];
        record.slot = static_cast<std::int32_t>(members_.size());
        record.trussness = never;
        members_.push_back({edge});
        state_.log(edge, trussness_before);
    }

    // Enumerates the triangles in two passes, so that all records are prefetched before the first one is used.
    void enumerate(std::int32_t count) {
        corners_.clear();
        for (std::int32_t slot = 0; slot < count; ++slot)
            state_.walk_triangles(members_[slot].edge, [&](EdgeId a, EdgeId b) {
                corners_.push_back({slot, a, b});
                order_.prefetch(a);
                order_.prefetch(b);
            });
        for (const Corner& corner : corners_) {
            if (was_enumerated(corner.a, corner.slot) || was_enumerated(corner.b, corner.slot)) continue;
            for (EdgeId other : {corner.a, corner.b})
                if (order_[other].trussness == 2) join(other, 2);
            add_triangle(members_[corner.slot].edge, corner.a, corner.b);
        }
    }

    // Old edges that joined have slots after those of the new edges, and are not enumerated themselves.
    bool was_enumerated(EdgeId edge, std::int32_t slot) const {
        const std::int32_t other = order_[edge].slot;
        return other != none && other < slot;
    }

    void add_triangle(EdgeId edge, EdgeId a, EdgeId b) {
        Triangle triangle{{edge, a, b}, {none, none, none}, never, false};
        const auto number = static_cast<std::int32_t>(triangles_.size());
        for (std::int32_t corner = 0; corner < 3; ++corner) {
            const Record& record = order_[triangle.edges[corner]];
            triangle.leaves_after = std::min(triangle.leaves_after, record.trussness);
            if (record.slot == none) continue;
            Member& member = members_[record.slot];
            triangle.next[corner] = member.triangles;
            member.triangles = 3 * number + corner;
            ++member.alive;
        }
        triangles_.push_back(triangle);
    }

    void peel() {
        release_isolated();
        if (waiting_.empty()) return;
        by_level_.clear();
        for (std::size_t t = 0; t < triangles_.size(); ++t)
            if (triangles_[t].leaves_after != never) by_level_.push_back(static_cast<std::int32_t>(t));
        std::sort(by_level_.begin(), by_level_.end(), [&](std::int32_t a, std::int32_t b) {
            return triangles_[a].leaves_after < triangles_[b].leaves_after;
        });
        std::size_t left = 0;
        for (std::int32_t level = 3; !waiting_.empty(); level = next_level(level, left)) peel_level(level, left);
    }

    // Sets trussness 2 for members without triangles, as most edges of a document are; those are in no list.
    void release_isolated() {
        waiting_.clear();
        for (std::size_t slot = 0; slot < members_.size(); ++slot) {
            if (members_[slot].alive == 0)
                order_[members_[slot].edge].trussness = 2;
            else
                waiting_.push_back(static_cast<std::int32_t>(slot));
        }
    }

    void peel_level(std::int32_t level, std::size_t& left) {
        for (; left < by_level_.size() && triangles_[by_level_[left]].leaves_after <= level; ++left)
            lose_old_edge(triangles_[by_level_[left]]);
        leaving_.clear();
        for (std::int32_t slot : waiting_)
            if (members_[slot].alive <= level - 2) leaving_.push_back(slot);
        for (std::size_t i = 0; i < leaving_.size(); ++i) leave(leaving_[i], level);
        if (leaving_.empty()) return;
        waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                      [&](std::int32_t slot) { return order_[members_[slot].edge].trussness != never; }),
                       waiting_.end());
    }

    // Returns the next level at which an old edge or a member leaves.
    std::int32_t next_level(std::int32_t level, std::size_t left) const {
        std::int32_t next = left < by_level_.size() ? triangles_[by_level_[left]].leaves_after : never;
        for (std::int32_t slot : waiting_) next = std::min(next, members_[slot].alive + 2);
        return std::max(next, level + 1);
    }

    // Removes a triangle whose first old edge leaves; that edge counts it in `later`.
    void lose_old_edge(Triangle& triangle) {
        if (triangle.dead) return;
        triangle.dead = true;
        EdgeId first = none;
        for (EdgeId edge : triangle.edges) {
            const Record& record = order_[edge];
            if (record.slot != none)
                --members_[record.slot].alive;
            else if (first == none || order_.before(record, order_[first]))
                first = edge;
        }
        Record& record = order_[first];
        if (++record.later == record.trussness - 1) violating_.push_back(first);
    }

    void leave(std::int32_t slot, std::int32_t level) {
        const Member& member = members_[slot];
        order_[member.edge].later = member.alive;
        order_.link_last(member.edge, level);
        for (std::int32_t at = member.triangles; at != none; at = triangles_[at / 3].next[at % 3]) {
            Triangle& triangle = triangles_[at / 3];
            if (triangle.dead) continue;
            triangle.dead = true;
            for (EdgeId other : triangle.edges) {
                const std::int32_t other_slot = order_[other].slot;
                if (other == member.edge || other_slot == none) continue;
                if (--members_[other_slot].alive == level - 2) leaving_.push_back(other_slot);
            }
        }
    }

    void count_support() {
        for (const Triangle& triangle : triangles_) {
            std::int32_t lowest = never;
            for (EdgeId edge : triangle.edges) lowest = std::min(lowest, order_[edge].trussness);
            for (EdgeId edge : triangle.edges) order_[edge].support += order_[edge].trussness == lowest;
        }
    }

    State& state_;
    PeelOrder& order_;
    Raise raise_;
    std::vector<Member> members_;
    std::vector<Corner> corners_;
    std::vector<Triangle> triangles_;
    std::vector<std::int32_t> by_level_, waiting_, leaving_;
    std::vector<EdgeId> violating_;
};

}  // namespace truss
