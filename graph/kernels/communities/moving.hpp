// Local moving by modularity gain (asynchronous label propagation) that starts from changed units only.
//
// LPAm (Barber & Clark 2009) as the local moving phase of a maintained hierarchy (Blondel et al. 2008), with two
// deviations. First, each level has its own resolution (below), so that the granularity of the levels does not depend on
// the order of the updates. Second, a unit selects its community from the coarsest partition to the finest: the coarsest
// modularity gain decides, then, within the selected community, that of the next finer partition, and so on. This
// includes the multilevel refinement of Rotta & Noack (2011) in the move. Moves terminate, because each one raises
// (Q_top, ..., Q_0) lexicographically.
//
// The result is deterministic: on a tie the unit stays in its community, else the smaller community id wins, and units
// move in the order of their idents. All comparisons are of integers: weight to the community x total degree against own
// degree x the community's degree.
#pragma once

#include "levels.hpp"

namespace communities {

constexpr int kRounds = 32;

// Resolution of each partition, finest first (Reichardt & Bornholdt 2006): a community of one level has some tens of
// times the weight of a community of the level below. The coarsest partition uses plain modularity; the higher
// resolutions keep the units of each level small enough to move.
constexpr Weight kResolution[] = {1024, 32, 1};
constexpr int kDepth = sizeof(kResolution) / sizeof(kResolution[0]);

struct Candidate {
    Unit community;
    Weight weight;
};

class Moving : public Levels {
   public:
    // Moves the due units of a level to their best communities, in order; neighbours of a moved unit are examined in the
    // next round if they are due. Returns true if any moved. Cost: the degrees of the examined units x the levels above.
    bool propagate(int l) {
        Level& level = *levels[l];
        std::vector<Unit> queue, woken;
        for (Touch& touch : touches[l])
            if (touch.unit != kNobody && due(l, touch)) {
                touch.queued = true;
                queue.push_back(touch.unit);
            }
        bool moved = false;
        for (int round = 0; round < kRounds && !queue.empty(); ++round) {
            sort_by_key(l, queue);
            woken.clear();
            for (const Unit unit : queue) {
                untouch(l, unit);
                if (level.community[unit] < 0) continue;
                gather(l, unit);
                const Unit target = choose(l, unit);
                if (target == level.community[unit]) continue;
                moved = true;
                move(l, unit, target);
                for (const Entry entry : level.adjacency[unit]) {
                    if (level.community[entry.unit] == target) continue;
                    Touch& touched = touch(l, entry.unit, entry.weight);
                    if (touched.queued || !due(l, touched)) continue;
                    touched.queued = true;
                    woken.push_back(entry.unit);
                }
            }
            queue.swap(woken);
        }
        compact(l);
        return moved;
    }

    void sort_by_key(int l, std::vector<Unit>& units) const {
        if (l == 0) {
            std::sort(units.begin(), units.end());
        } else {
            const auto& ident = levels[l]->ident;
            std::sort(units.begin(), units.end(), [&](Unit a, Unit b) { return ident[a] < ident[b]; });
        }
    }

    void drop_scratch() {
        sums = {};
        seats_ = {};
    }

    std::size_t scratch_bytes() const {
        std::size_t total_bytes = 0;
        for (const auto& seats : seats_) total_bytes += seats.capacity() * sizeof(Unit);
        return total_bytes;
    }

   protected:
    // Sums the weights from the unit to each neighbouring community, into sums[s - l] for every partition s from l upwards.
    // Cost: O(degree + neighbouring communities of each level).
    void gather(int l, Unit unit) {
        const Level& level = *levels[l];
        visit(l, unit);
        prepare(l);
        for (const Entry entry : level.adjacency[unit]) collect(l, 0, level.community[entry.unit], entry.weight);
        release(l, 0);
        for (int s = l + 1; s < top(); ++s) {
            const auto& parents = levels[s]->community;
            for (const Candidate& c : sums[s - 1 - l]) collect(s, s - l, parents[c.community], c.weight);
            release(s, s - l);
        }
    }

    // Moves the gathered unit to another community, and updates the sums of both branches up to their common ancestor.
    // Cost: the neighbouring communities of each level, with a neighbour list's memmove for each.
    void transfer(int l, Unit unit, Unit target) {
        Level& level = *levels[l];
        const Unit source = level.community[unit];
        const Weight degree = level.degree[unit];
        const Unit size = level.size[unit];
        record(l, unit);
        part(l, unit);
        join(l, unit, target);
        chain(l, source, from_);
        chain(l, target, to_);
        for (int s = l; s < top() && from_[s - l] != to_[s - l]; ++s) {
            const Unit a = from_[s - l], b = to_[s - l];
            Level& above = *levels[s + 1];
            const auto& weights = sums[s - l];
            levels[s]->inside += weight_to(weights, b) - weight_to(weights, a);
            add_degree(s + 1, a, -degree);
            add_degree(s + 1, b, degree);
            above.size[a] -= size;
            above.size[b] += size;
            if (s + 1 == top() && !tracked_top) continue;
            for (const Candidate& c : weights) {
                touch(s + 1, c.community, c.weight);
                if (c.community != a) add_edge(s + 1, a, c.community, -c.weight);
                if (c.community != b) add_edge(s + 1, b, c.community, c.weight);
            }
        }
        close_if_empty(l, source);
    }

    std::vector<std::vector<Candidate>> sums;

   private:
    void prepare(int l) {
        if (sums.size() < levels.size()) sums.resize(levels.size());
        if (seats_.size() < levels.size()) seats_.resize(levels.size());
        for (int s = l; s < top(); ++s) {
            sums[s - l].clear();
            if (seats_[s].size() < levels[s + 1]->degree.size()) seats_[s].resize(levels[s + 1]->degree.capacity(), 0);
        }
    }

    void collect(int s, int place, Unit community, Weight weight) {
        Unit& seat = seats_[s][community];
        if (seat == 0) {
            sums[place].push_back({community, 0});
            seat = static_cast<Unit>(sums[place].size());
        }
        sums[place][seat - 1].weight += weight;
    }

    void release(int s, int place) {
        for (const Candidate& c : sums[place]) seats_[s][c.community] = 0;
    }

    static Weight weight_to(const std::vector<Candidate>& weights, Unit community) {
        for (const Candidate& c : weights)
            if (c.community == community) return c.weight;
        return 0;
    }

    // Returns the community of the largest gain in partition s below `parent`; kNobody if none has a gain of at least 0.
    Unit best_of(int s, const std::vector<Candidate>& weights, Weight degree, Unit stay, Unit parent) const {
        const Level& units = *levels[s + 1];
        const Wide twice = 2 * static_cast<Wide>(total), scaled = static_cast<Wide>(degree) * kResolution[s];
        Unit best = kNobody;
        Wide best_score = 0;
        if (stay >= 0) {
            const Wide rest = units.degree[stay] - degree;
            const Wide score = weight_to(weights, stay) * twice - scaled * rest;
            if (score >= 0) {
                best = stay;
                best_score = score;
            }
        }
        for (const Candidate& c : weights) {
            if (c.community == stay || (parent >= 0 && units.community[c.community] != parent)) continue;
            const Wide score = c.weight * twice - scaled * static_cast<Wide>(units.degree[c.community]);
            const bool tie = score == best_score && best != kNobody && best != stay;
            if (score > best_score || (tie && units.ident[c.community] < units.ident[best])) {
                best = c.community;
                best_score = score;
            }
        }
        return best;
    }

    // Returns the best community of the gathered unit, from the coarsest partition to the finest; it may be a new one.
    Unit choose(int l, Unit unit) {
        chain(l, levels[l]->community[unit], from_);
        const Weight degree = levels[l]->degree[unit];
        Unit parent = kNobody;
        bool home = true;
        for (int s = top() - 1; s >= l; --s) {
            const Unit own = home ? from_[s - l] : kNobody;
            const Unit best = best_of(s, sums[s - l], degree, own, parent);
            if (best < 0) return open_chain(l, s, parent);
            home = home && best == own;
            parent = best;
        }
        return parent;
    }

    // Moves the unit, and records the members that lose a link inside its old community, for the check of connectivity.
    void move(int l, Unit unit, Unit target) {
        const Level& level = *levels[l];
        const Unit source = level.community[unit];
        if (weight_to(sums[0], source) != 0) {
            left_.clear();
            for (const Entry entry : level.adjacency[unit])
                if (level.community[entry.unit] == source) left_.push_back(entry.unit);
            if (left_.size() > 1 || loosened[l].count(source) != 0) {
                auto& units = loosened[l][source];
                units.insert(units.end(), left_.begin(), left_.end());
            }
        }
        transfer(l, unit, target);
    }

    // Removes withdrawn entries from the list of touches, so that a long propagation does not accumulate them.
    void compact(int l) {
        auto& marks = touches[l];
        std::size_t kept = 0;
        for (const Touch& touch : marks)
            if (touch.unit != kNobody) {
                marks[kept] = touch;
                marks[kept].queued = false;
                levels[l]->mark[touch.unit] = static_cast<Unit>(++kept);
            }
        marks.resize(kept);
    }

    std::vector<std::vector<Unit>> seats_;
    std::vector<Unit> from_, to_, left_;
};

}  // namespace communities
