// A graph with some weights changed, over another graph that stays as it is: an earlier or a possible state of it.
//
// Only the changed links are stored, by node. Invariant: `links` and `degree` are those of a Graph with the same edges, so a
// push gives the same bits. The graph below must not change; its owner makes sure of that.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace pagerank {

// The links of a node: those of the graph below, or a merged copy.
class Links {
 public:
    explicit Links(const LinkSpan& below) : first_(below.data()), count_(below.size()) {}
    explicit Links(std::vector<Link>&& merged) : own_(std::move(merged)), first_(own_.data()), count_(own_.size()) {}
    Links(const Links&) = delete;
    Links& operator=(const Links&) = delete;

    const Link* begin() const { return first_; }
    const Link* end() const { return first_ + count_; }
    const Link& operator[](std::size_t at) const { return first_[at]; }
    std::size_t size() const { return count_; }
    bool empty() const { return count_ == 0; }

 private:
    std::vector<Link> own_;
    const Link* first_;
    std::size_t count_;
};

class PatchedGraph {
 public:
    explicit PatchedGraph(const Graph& below) : below_(below), edges_(below.edges()) {}

    Room room() const {
        Room all = below_.room();
        all.admit(room_);
        return all;
    }
    std::int64_t edges() const { return edges_; }
    bool holds(Node node) const { return room_.holds(node) || below_.holds(node); }

    // Cost: the links of a node that has changed ones; O(1) for another.
    Links links(Node node) const {
        const LinkSpan held = below_.holds(node) ? below_.links(node) : LinkSpan(nullptr, 0);
        const auto found = patches_.find(node);
        if (found == patches_.end()) return Links(held);
        const Neighbours& patch = found->second.links;
        std::vector<Link> merged;
        merged.reserve(held.size() + patch.links().size());
        for (const Link& link : held)
            if (patch.weight(link.node) == 0.0F) merged.push_back(link);
        for (const Link& link : patch.links())
            if (link.weight > 0) merged.push_back(link);
        return Links(std::move(merged));
    }

    double degree(Node node) const {
        const double held = below_.holds(node) ? below_.degree(node) : 0.0;
        const auto found = patches_.find(node);
        return found == patches_.end() ? held : held + static_cast<double>(found->second.change) * weight_unit;
    }

    float weight(Node u, Node v) const {
        const auto found = patches_.find(u);
        const float changed = found == patches_.end() ? 0.0F : found->second.links.weight(v);
        return changed == 0.0F ? below_.weight(u, v) : std::max(changed, 0.0F);
    }

    void fetch(Node node) const {
        if (below_.holds(node)) below_.fetch(node);
    }
    void fetch_links(Node node) const {
        if (below_.holds(node)) below_.fetch_links(node);
    }

    void make_room(const Ends* ends, std::size_t count) {
        for (const Ends* edge = ends; edge != ends + count; ++edge) {
            room_.admit(edge->u);
            room_.admit(edge->v);
        }
    }

    // Sets the weight of an edge; 0 removes it. Cost: O(1) expected.
    void set(Ends edge, float weight) {
        const float before = this->weight(edge.u, edge.v);
        if (before == weight) return;
        const std::int64_t change = units(weight) - units(before);
        put(edge.u, edge.v, weight, change);
        put(edge.v, edge.u, weight, change);
        edges_ += (weight != 0.0F) - (before != 0.0F);
    }

    std::size_t memory_bytes() const {
        std::size_t bytes = patches_.bucket_count() * sizeof(void*);
        for (const auto& [node, patch] : patches_) bytes += sizeof(node) + sizeof(patch) + patch.links.memory_bytes();
        return bytes;
    }

 private:
    static constexpr float removed = -1.0F;  // the weight of a changed link that no longer exists
    struct Patch {
        Neighbours links;
        std::int64_t change = 0;  // of the degree, in units
    };

    static std::int64_t units(float weight) { return std::llrint(static_cast<double>(weight) / weight_unit); }

    void put(Node from, Node to, float weight, std::int64_t change) {
        Patch& patch = patches_[from];
        patch.links.set(to, weight == 0.0F ? removed : weight);
        patch.change += change;
    }

    const Graph& below_;
    Room room_;
    std::int64_t edges_;
    std::unordered_map<Node, Patch> patches_;
};

}  // namespace pagerank
