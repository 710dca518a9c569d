// The dynamic decomposition as a whole: checked batches in, changed values out. No Python here.
#pragma once

#include <algorithm>
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

inline bool operator<(const Ends& a, const Ends& b) { return a.u != b.u ? a.u < b.u : a.v < b.v; }
inline bool operator==(const Ends& a, const Ends& b) { return a.u == b.u && a.v == b.v; }

struct Value {
    Ends ends;
    std::int32_t trussness;
};

class Engine {
 public:
    explicit Engine(std::vector<Ends> edges, std::int64_t stride = PeelOrder::usual_stride) : state_(stride) {
        normalise(edges, "is given twice");
        Decompose(state_).run(edges);
    }

    // Removes, then adds; leaves in `values()` what is new or differs. Throws before it changes anything.
    void update(std::vector<Ends>& added, std::vector<Ends>& removed) {
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

    static std::string name(const Ends& ends) {
        return "edge (" + std::to_string(ends.u) + ", " + std::to_string(ends.v) + ")";
    }

 private:
    static void normalise(std::vector<Ends>& edges, const char* twice) {
        for (Ends& ends : edges) {
            if (ends.u > ends.v) std::swap(ends.u, ends.v);
            if (ends.u < 0) throw std::invalid_argument(name(ends) + " has a negative node");
            if (ends.u == ends.v) throw std::invalid_argument(name(ends) + " is a self-loop");
        }
        if (!std::is_sorted(edges.begin(), edges.end())) std::sort(edges.begin(), edges.end());
        const auto same = std::adjacent_find(edges.begin(), edges.end());
        if (same != edges.end()) throw std::invalid_argument(name(*same) + " " + twice);
    }

    // Edges that are both removed and added drop out of both: they change nothing.
    void check(std::vector<Ends>& added, std::vector<Ends>& removed) {
        normalise(added, "is added twice");
        normalise(removed, "is removed twice");
        for (const Ends& ends : removed)
            if (state_.adjacency.find(ends.u, ends.v) == none) throw std::invalid_argument(name(ends) + " is not there");
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

    // The log's first entry of an edge holds its value before the update; the sort is stable, so it stays the first.
    void collect() {
        auto& changes = state_.changes;
        const PeelOrder& order = state_.order;
        std::stable_sort(changes.begin(), changes.end(),
                         [&](const auto& a, const auto& b) { return order.ends(a.first) < order.ends(b.first); });
        values_.clear();
        EdgeId previous = none;
        for (const auto& [edge, before] : changes) {
            if (edge != previous && order[edge].trussness != before)
                values_.push_back({order.ends(edge), order[edge].trussness});
            previous = edge;
        }
    }

    State state_;
    Insert insert_{state_};
    Remove remove_{state_};
    std::vector<EdgeId> batch_;
    std::vector<Value> values_;
};

}  // namespace truss
