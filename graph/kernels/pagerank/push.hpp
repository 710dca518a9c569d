// Personalised PageRank by forward push (Andersen, Chung & Lang 2006, section 3).
//
// Invariant: exact = score + sum over u of residue(u) x (exact, seeded at u alone). Every operation and its order are
// those of graph/pagerank/pure.py, where the deviations from the paper are told.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace pagerank {

struct Scored {
    Node node;
    double score;
};

struct Restart {
    const Node* seeds;  // distinct, ascending
    const double* mass;
    std::size_t count;
    double damping, tolerance;
    std::int64_t max_pushes;
};

// The memory of one push, as large as the graph; it is cleared by what was touched, and used again.
class Pusher {
 public:
    const std::vector<Scored>& run(const Graph& graph, const Restart& restart) {
        clear();
        if (places_.size() < graph.nodes()) places_.resize(graph.nodes() + graph.nodes() / 4);
        sow(graph, restart);
        std::int64_t left = restart.max_pushes;
        while (!frontier_.empty() && left > 0) {
            std::sort(frontier_.begin(), frontier_.end());
            following_.clear();
            for (const Node node : frontier_) {
                if (left-- == 0) break;
                push(graph, restart, node);
            }
            frontier_.swap(following_);
        }
        collect();
        return ranked_;
    }

    std::size_t memory_bytes() const { return places_.capacity() * sizeof(Place); }

 private:
    struct Place {
        double residue = 0, score = 0;
        bool queued = false, touched = false;
    };

    void sow(const Graph& graph, const Restart& restart) {
        for (std::size_t seed = 0; seed < restart.count; ++seed) {
            const Node node = restart.seeds[seed];
            if (!graph.holds(node) || graph.links(node).empty()) {
                ranked_.push_back({node, restart.mass[seed]});
                continue;
            }
            add(node, restart.mass[seed]);
            wake(graph, restart, node, frontier_);
        }
    }

    void push(const Graph& graph, const Restart& restart, Node node) {
        Place& place = places_[static_cast<std::size_t>(node)];
        const double held = place.residue;
        place.residue = 0;
        place.queued = false;
        place.score += (1 - restart.damping) * held;
        const double share = restart.damping * held / graph.degree(node);
        for (const Link& link : graph.links(node)) {
            add(link.node, share * static_cast<double>(link.weight));
            wake(graph, restart, link.node, following_);
        }
    }

    void add(Node node, double residue) {
        Place& place = places_[static_cast<std::size_t>(node)];
        place.residue += residue;
        if (place.touched) return;
        place.touched = true;
        touched_.push_back(node);
    }

    void wake(const Graph& graph, const Restart& restart, Node node, std::vector<Node>& into) {
        Place& place = places_[static_cast<std::size_t>(node)];
        if (place.queued || !(place.residue > restart.tolerance * graph.degree(node))) return;
        place.queued = true;
        into.push_back(node);
    }

    void collect() {
        for (const Node node : touched_)
            if (places_[static_cast<std::size_t>(node)].score > 0)
                ranked_.push_back({node, places_[static_cast<std::size_t>(node)].score});
        ranked_.erase(std::remove_if(ranked_.begin(), ranked_.end(), [](const Scored& some) { return !(some.score > 0); }),
                      ranked_.end());
        std::sort(ranked_.begin(), ranked_.end(), [](const Scored& a, const Scored& b) {
            return a.score > b.score || (a.score == b.score && a.node < b.node);
        });
    }

    // At the start and not at the end: a run that threw for want of memory leaves nothing for the next one.
    void clear() {
        for (const Node node : touched_) places_[static_cast<std::size_t>(node)] = Place();
        touched_.clear();
        frontier_.clear();
        following_.clear();
        ranked_.clear();
    }

    std::vector<Place> places_;
    std::vector<Node> touched_, frontier_, following_;
    std::vector<Scored> ranked_;
};

}  // namespace pagerank
