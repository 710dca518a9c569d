// Dynamic truss decomposition: it checks and applies batches, and returns the changed values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "audit.hpp"
#include "decompose.hpp"
#include "insert.hpp"
#include "remove.hpp"
#include "state.hpp"

namespace truss {

// Returns a number that sorts as the pair does, for comparisons without branches.
inline std::uint64_t key(const Ends& ends) {
    return static_cast<std::uint64_t>(ends.u) << 32 | static_cast<std::uint32_t>(ends.v);
}
inline bool operator<(const Ends& a, const Ends& b) { return key(a) < key(b); }

struct Value {
    Ends ends;
    std::int32_t trussness;
};

class Engine {
 public:
    explicit Engine(std::vector<Ends> edges, std::int64_t stride = PeelOrder::usual_stride) : state_(stride) {
        normalise(edges, "is given twice");
        std::vector<std::uint64_t>().swap(keys_);
        Decompose(state_).run(edges);
    }

    // Removes edges, then adds edges; `values()` returns new and changed values. Throws before any change. Cost: see
    // remove.hpp, insert.hpp and raise.hpp.
    void update(std::vector<Ends>& added, std::vector<Ends>& removed) {
        prefetch(added);
        check(added, removed);
        state_.changes.clear();
        if (!removed.empty()) take_out(removed);
        if (!added.empty()) bring_in(added);
        collect();
    }

    const std::vector<Value>& values() const { return values_; }
    State& state() { return state_; }
    const State& state() const { return state_; }

    std::size_t memory_bytes() const { return state_.adjacency.memory_bytes() + state_.order.memory_bytes(); }

 private:
    // Orients each edge to u < v, and sorts the edges as numbers, which is twice as fast as sorting pairs.
    void normalise(std::vector<Ends>& edges, const char* twice) {
        keys_.clear();
        for (const Ends& given : edges) {
            const Ends ends{std::min(given.u, given.v), std::max(given.u, given.v)};
            if (ends.u < 0) throw std::invalid_argument(name(ends) + " has a negative node");
            if (ends.u == ends.v) throw std::invalid_argument(name(ends) + " is a self-loop");
            keys_.push_back(key(ends));
        }
        if (!std::is_sorted(keys_.begin(), keys_.end())) std::sort(keys_.begin(), keys_.end());
        for (std::size_t i = 0; i < edges.size(); ++i) {
            edges[i] = {static_cast<Node>(keys_[i] >> 32), static_cast<Node>(keys_[i] & 0xffffffffU)};
            if (i && keys_[i] == keys_[i - 1]) throw std::invalid_argument(name(edges[i]) + " " + twice);
        }
    }

    void prefetch(const std::vector<Ends>& edges) const {
        for (const Ends& ends : edges) {
            state_.adjacency.prefetch_node(ends.u);
            state_.adjacency.prefetch_node(ends.v);
        }
        for (const Ends& ends : edges) {
            state_.adjacency.prefetch_neighbours(ends.u);
            state_.adjacency.prefetch_neighbours(ends.v);
        }
    }

    // Throws for an invalid batch. Edges that are removed and added are dropped: they change nothing.
    void check(std::vector<Ends>& added, std::vector<Ends>& removed) {
        normalise(added, "is added twice");
        normalise(removed, "is removed twice");
        for (const Ends& ends : removed)
            if (state_.adjacency.find(ends.u, ends.v) == none)
                throw std::invalid_argument(name(ends) + " is not there");
        if (!removed.empty() && !added.empty()) drop_common(added, removed);
        for (const Ends& ends : added)
            if (state_.adjacency.find(ends.u, ends.v) != none)
                throw std::invalid_argument(name(ends) + " is there already");
    }

    static void drop_common(std::vector<Ends>& added, std::vector<Ends>& removed) {
        std::vector<Ends> only_added, only_removed;
        std::set_difference(added.begin(), added.end(), removed.begin(), removed.end(), std::back_inserter(only_added));
        std::set_difference(removed.begin(), removed.end(), added.begin(), added.end(), std::back_inserter(only_removed));
        added.swap(only_added);
        removed.swap(only_removed);
    }

    void take_out(const std::vector<Ends>& removed) {
        batch_.clear();
        for (const Ends& ends : removed) batch_.push_back(state_.adjacency.find(ends.u, ends.v));
        remove_.run(batch_);
    }

    void bring_in(const std::vector<Ends>& added) {
        batch_.clear();
        for (const Ends& ends : added) {
            batch_.push_back(state_.order.create(ends.u, ends.v));
            state_.adjacency.insert(ends.u, ends.v, batch_.back());
        }
        insert_.run(batch_);
    }

    struct Change {
        std::uint64_t key;
        std::int32_t number;  // position in the log: the first entry of an edge has its value before the update
        bool operator<(const Change& other) const { return key != other.key ? key < other.key : number < other.number; }
    };

    // Collects the edges whose values differ from those before the update. The log is already sorted if a batch of new edges
    // raised no other edge.
    void collect() {
        const auto& changes = state_.changes;
        const PeelOrder& order = state_.order;
        sorted_.clear();
        for (std::size_t i = 0; i < changes.size(); ++i)
            sorted_.push_back({key(order.ends(changes[i].first)), static_cast<std::int32_t>(i)});
        if (!std::is_sorted(sorted_.begin(), sorted_.end())) std::sort(sorted_.begin(), sorted_.end());
        values_.clear();
        EdgeId previous = none;
        for (const Change& change : sorted_) {
            const auto [edge, before] = changes[change.number];
            const std::int32_t value = order[edge].trussness;
            if (edge != previous && value != before) values_.push_back({order.ends(edge), value});
            previous = edge;
        }
    }

    State state_;
    Insert insert_{state_};
    Remove remove_{state_};
    std::vector<EdgeId> batch_;
    std::vector<Change> sorted_;
    std::vector<std::uint64_t> keys_;
    std::vector<Value> values_;
};

}  // namespace truss
