// Personalised PageRank by forward push (Andersen, Chung & Lang 2006, section 3), in rounds and in whole units of mass.
//
// Invariant: exact = score + sum over u of residue(u) x (exact, seeded at u alone) + the rounding loss. All sums are of
// integers, and a round pushes the residues at its start, so the result does not depend on the numbering of the nodes.
// Deviations from the paper: the walk is not lazy, restarts with probability 1 - damping, and has several seeds; nodes
// are pushed in rounds, each with its residue at the start of the round, in whole units rounded down.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph.hpp"
#include "ranking.hpp"

namespace pagerank {

struct Restart {
    const Node* seeds;  // distinct
    const std::int64_t* units;
    std::size_t count;
    double damping, tolerance;  // maximum residue in units per unit of degree
    double unit;                // score of one unit of mass
    std::int64_t max_pushes;
};

// The memory of one push, as large as the graph. It is reused: clearing costs the touched nodes only. `Adjacency` is Graph, or
// PatchedGraph (patched.hpp).
class Pusher {
 public:
    // Returns the scores, highest first; valid until the next run. Cost: the degrees of the pushed nodes, of which there are
    // at most `max_pushes`, and a sort of the scored nodes.
    template <class Adjacency>
    const std::vector<Scored>& run(const Adjacency& graph, const Restart& restart) {
        clear();
        places_.reserve(graph.room());
        places_.extend(graph.room());
        sow(graph, restart);
        std::int64_t left = restart.max_pushes;
        while (!frontier_.empty() && static_cast<std::int64_t>(frontier_.size()) <= left) {
            left -= static_cast<std::int64_t>(frontier_.size());
            round(graph, restart);
        }
        collect(restart.unit);
        return ranked_;
    }

    std::size_t memory_bytes() const { return places_.memory_bytes(); }

 private:
    static constexpr std::size_t kAhead = 8;  // places between a prefetch and its use
    struct Place {
        std::int64_t residue = 0, score = 0;
        double limit = 0;  // the residue that need not be pushed, negative in the frontier; 0 before the node is reached

        bool reached() const { return limit != 0; }
        bool queued() const { return limit < 0; }
    };
    struct Held {
        Node node;
        std::int64_t units;
    };

    Place& place(Node node) { return places_[node]; }

    template <class Adjacency>
    void sow(const Adjacency& graph, const Restart& restart) {
        for (std::size_t seed = 0; seed < restart.count; ++seed) {
            const Node node = restart.seeds[seed];
            if (graph.holds(node) && !graph.links(node).empty())
                add(graph, restart, node, restart.units[seed]);
            else if (restart.units[seed] > 0)
                ranked_.push_back({node, static_cast<double>(restart.units[seed]) * restart.unit});
        }
    }

    // Takes all residues before it distributes any: mass that a node receives in this round is pushed in the next.
    template <class Adjacency>
    void round(const Adjacency& graph, const Restart& restart) {
        held_.clear();
        for (const Node node : frontier_) {
            held_.push_back({node, place(node).residue});
            place(node).residue = 0;
            place(node).limit = -place(node).limit;
        }
        frontier_.clear();
        for (std::size_t at = 0; at < held_.size(); ++at) {
            if (at + 2 * kAhead < held_.size()) graph.fetch(held_[at + 2 * kAhead].node);
            if (at + kAhead < held_.size()) graph.fetch_links(held_[at + kAhead].node);
            push(graph, restart, held_[at]);
        }
    }

    template <class Adjacency>
    void push(const Adjacency& graph, const Restart& restart, Held held) {
        const auto units = static_cast<double>(held.units);
        place(held.node).score += static_cast<std::int64_t>((1 - restart.damping) * units);
        const double share = restart.damping * units / graph.degree(held.node);
        const auto links = graph.links(held.node);
        for (std::size_t at = 0; at < links.size(); ++at) {
            if (at + kAhead < links.size()) __builtin_prefetch(&place(links[at + kAhead].node), 1);
            add(graph, restart, links[at].node, static_cast<std::int64_t>(share * static_cast<double>(links[at].weight)));
        }
    }

    template <class Adjacency>
    void add(const Adjacency& graph, const Restart& restart, Node node, std::int64_t units) {
        Place& here = place(node);
        here.residue += units;
        if (!here.reached()) {
            here.limit = std::max(restart.tolerance * graph.degree(node), std::numeric_limits<double>::min());
            touched_.push_back(node);
        }
        if (here.queued() || !(static_cast<double>(here.residue) > here.limit)) return;
        here.limit = -here.limit;
        frontier_.push_back(node);
    }

    void collect(double unit) {
        for (const Node node : touched_)
            if (place(node).score > 0) ranked_.push_back({node, static_cast<double>(place(node).score) * unit});
        sort_.run(ranked_);
    }

    // Runs at the start of a run, so that the remains of a run that failed for lack of memory are removed, too.
    void clear() {
        for (const Node node : touched_) place(node) = Place();
        touched_.clear();
        frontier_.clear();
        ranked_.clear();
    }

    PerNode<Place> places_;
    std::vector<Node> touched_, frontier_;
    std::vector<Held> held_;
    std::vector<Scored> ranked_;
    RankingSort sort_;
};

}  // namespace pagerank
