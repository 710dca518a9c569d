// Strengths of the links between odd nodes that have an even neighbour in common.
//
// A neighbour with n odd neighbours is as strong as strengths[n - 1] says; one with more than there are strengths links none.

#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "graph.hpp"

namespace pagerank {

class SharedNeighbours {
 public:
    SharedNeighbours(const Node* targets, std::size_t count, const double* strengths, std::size_t most)
        : targets_(targets), strengths_(strengths), most_(most) {
        std::size_t slots = 16;
        while (slots < 4 * count) slots *= 2;
        table_.assign(slots, kNone);
        for (std::size_t at = 0; at < count; ++at) table_[slot_of(targets[at])] = static_cast<std::int32_t>(at);
    }

    // Raises the row's entries (targets,) to the strengths of the links from a node. Cost: the links of its neighbours up to
    // the first that is one too many; a neighbour with too many is read for one source only.
    template <class Adjacency>
    void read(const Adjacency& graph, Node source, double* row) {
        if (!graph.holds(source)) return;
        std::vector<Node> odd(most_);
        for (const Link& shared : graph.links(source)) {
            if (shared.node % 2 != 0 || hubs_.count(shared.node) != 0) continue;
            std::size_t count = 0;
            for (const Link& link : graph.links(shared.node)) {
                if (link.node % 2 == 0) continue;
                if (count == most_) {
                    hubs_.insert(shared.node);
                    count = 0;
                    break;
                }
                odd[count++] = link.node;
            }
            if (count < 2) continue;
            const double strength = strengths_[count - 1];
            for (std::size_t at = 0; at < count; ++at) {
                if (odd[at] == source) continue;
                const std::int32_t place = table_[slot_of(odd[at])];
                if (place != kNone) row[place] = std::max(row[place], strength);
            }
        }
    }

 private:
    static constexpr std::int32_t kNone = -1;

    // Returns the slot with the node's place, or the empty slot for it.
    std::size_t slot_of(Node node) const {
        const std::size_t mask = table_.size() - 1;
        std::size_t slot = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(node)) * 0x9E3779B97F4A7C15ULL >> 32) & mask;
        while (table_[slot] != kNone && targets_[table_[slot]] != node) slot = (slot + 1) & mask;
        return slot;
    }

    const Node* targets_;
    const double* strengths_;
    std::size_t most_;
    std::vector<std::int32_t> table_;
    std::unordered_set<Node> hubs_;  // the neighbours found to have too many odd neighbours
};

}  // namespace pagerank
