// Refinement: a community that has grown is divided where two communities fit better.
//
// Moves of single units cannot divide a community, and without refinement early merges are permanent (of twelve planted
// blocks streamed into an empty graph, one to three pairs were never separated). A community whose degree has changed by
// an eighth to a quarter is therefore clustered again from single units, on a copy of its inside. It is divided if that
// raises its partition's modularity. The parts are siblings, so no coarser partition changes, and the gain is strict: the
// lexicographic order of moving.hpp rises. Amortised over the change that made it due, the cost is a constant per unit of
// weight.
#pragma once

#include "naming.hpp"

namespace communities {

// A copy of the inside of one community: its units by position, in the order of their idents, and their groups.
class Region {
   public:
    struct Link {
        Unit to;
        Weight weight;
    };

    void start(std::size_t count, Wide twice, Weight resolution) {
        if (links_.size() < count) links_.resize(count);
        for (std::size_t i = 0; i < count; ++i) links_[i].clear();
        degree_.assign(count, 0);
        count_ = static_cast<Unit>(count);
        twice_ = twice;
        resolution_ = resolution;
    }
    void set_degree(Unit unit, Weight degree) { degree_[unit] = degree; }
    void link(Unit unit, Unit to, Weight weight) { links_[unit].push_back({to, weight}); }

    std::size_t bytes() const {
        std::size_t total_bytes = links_.capacity() * sizeof(links_[0]) + (degree_.capacity() + total_.capacity()) * 8;
        for (const auto& links : links_) total_bytes += links.capacity() * sizeof(Link);
        return total_bytes;
    }

    // Clusters the units; returns the connected components of the groups if the division has a gain, else nothing. Cost: at
    // most kRounds scans of the links.
    std::vector<std::vector<Unit>> parts() {
        group_.resize(count_);
        std::iota(group_.begin(), group_.end(), 0);
        total_ = degree_;
        sums_.assign(count_, 0);
        regroup();
        join_groups();
        return gain() > 0 ? components() : std::vector<std::vector<Unit>>{};
    }

   private:
    // Moves single units by modularity gain (Blondel et al. 2008, first phase).
    void regroup() {
        std::vector<Unit> near;
        for (int round = 0; round < kRounds; ++round) {
            bool moved = false;
            for (Unit unit = 0; unit < count_; ++unit) {
                near.clear();
                for (const Link& link : links_[unit]) {
                    Weight& sum = sums_[group_[link.to]];
                    if (sum == 0) near.push_back(group_[link.to]);
                    sum += link.weight;
                }
                const Unit own = group_[unit];
                const Wide scaled = static_cast<Wide>(degree_[unit]) * resolution_;
                Unit best = own;
                Wide best_score = sums_[own] * twice_ - scaled * (total_[own] - degree_[unit]);
                for (const Unit group : near) {
                    if (group == own) continue;
                    const Wide score = sums_[group] * twice_ - scaled * total_[group];
                    if (score > best_score || (score == best_score && best != own && group < best)) {
                        best = group;
                        best_score = score;
                    }
                }
                for (const Unit group : near) sums_[group] = 0;
                if (best == own) continue;
                moved = true;
                total_[own] -= degree_[unit];
                total_[best] += degree_[unit];
                group_[unit] = best;
            }
            if (!moved) return;
        }
    }

    // Merges pairs of groups while that raises the modularity (Clauset, Newman & Moore 2004, in the order of the groups).
    void join_groups() {
        std::map<Unit, std::map<Unit, Weight>> weights;
        for (Unit unit = 0; unit < count_; ++unit) {
            auto& row = weights[group_[unit]];
            for (const Link& link : links_[unit])
                if (group_[link.to] != group_[unit]) row[group_[link.to]] += link.weight;
        }
        std::vector<Unit> into(count_), order;
        std::iota(into.begin(), into.end(), 0);
        for (int round = 0; round < kRounds; ++round) {
            bool merged = false;
            order.clear();
            for (const auto& [group, row] : weights) order.push_back(group);
            for (const Unit group : order) {
                const auto at = weights.find(group);
                if (at == weights.end()) continue;
                const Unit other = best_pair(group, at->second);
                if (other < 0) continue;
                merged = true;
                auto taken = std::move(weights[other]);
                weights.erase(other);
                for (const auto& [third, weight] : taken) {
                    weights[third].erase(other);
                    if (third == group) continue;
                    at->second[third] += weight;
                    weights[third][group] += weight;
                }
                total_[group] += total_[other];
                into[other] = group;
            }
            if (!merged) break;
        }
        for (Unit& group : group_)
            while (into[group] != group) group = into[group];
    }

    Unit best_pair(Unit group, const std::map<Unit, Weight>& row) const {
        Unit best = kNobody;
        Wide best_gain = 0;
        for (const auto& [other, weight] : row) {  // ascending: the first among equals is kept
            const Wide gain = weight * twice_ - static_cast<Wide>(total_[group]) * resolution_ * total_[other];
            if (gain > best_gain) {
                best = other;
                best_gain = gain;
            }
        }
        return best;
    }

    // Returns the modularity gain of the division, scaled to an integer.
    Wide gain() const {
        Wide cut = 0, all = 0, squares = 0;
        std::vector<char> seen(count_, 0);
        for (Unit unit = 0; unit < count_; ++unit) {
            for (const Link& link : links_[unit])
                if (group_[link.to] != group_[unit]) cut += link.weight;
            if (std::exchange(seen[group_[unit]], 1) != 0) continue;
            all += total_[group_[unit]];
            squares += static_cast<Wide>(total_[group_[unit]]) * total_[group_[unit]];
        }
        return resolution_ * (all * all - squares) - cut * twice_;
    }

    std::vector<std::vector<Unit>> components() const {
        std::vector<std::vector<Unit>> parts;
        std::vector<char> seen(count_, 0);
        std::vector<Unit> fringe;
        for (Unit start = 0; start < count_; ++start) {
            if (seen[start] != 0) continue;
            seen[start] = 1;
            std::vector<Unit> part{start};
            fringe.assign(1, start);
            while (!fringe.empty()) {
                const Unit unit = fringe.back();
                fringe.pop_back();
                for (const Link& link : links_[unit]) {
                    if (seen[link.to] != 0 || group_[link.to] != group_[unit]) continue;
                    seen[link.to] = 1;
                    part.push_back(link.to);
                    fringe.push_back(link.to);
                }
            }
            std::sort(part.begin(), part.end());
            parts.push_back(std::move(part));
        }
        return parts;
    }

    std::vector<std::vector<Link>> links_;
    std::vector<Weight> degree_, total_, sums_;
    std::vector<Unit> group_;
    Unit count_ = 0;
    Wide twice_ = 0;
    Weight resolution_ = 1;
};

class Dividing : public Naming {
   public:
    // Divides the communities of partition l whose degree changed enough, if that has a gain; true if any was divided. The
    // part with the most nodes keeps the id. Cost: the links inside the examined communities x kRounds.
    bool divide(int l) {
        const Level& level = *levels[l];
        std::vector<Unit> grown;
        for (const Touch& touch : touches[l + 1])
            if (touch.unit != kNobody && regrown(l + 1, touch)) grown.push_back(touch.unit);
        sort_by_key(l + 1, grown);
        bool done = false;
        std::vector<Unit> units;
        for (const Unit community : grown) {
            units.clear();
            for (Unit unit = levels[l + 1]->first[community]; unit >= 0; unit = level.next[unit]) units.push_back(unit);
            if (units.size() < 2) continue;
            sort_by_key(l, units);
            enclose(l, community, units);
            auto parts = region_.parts();
            if (parts.empty()) continue;
            done = true;
            std::vector<std::pair<std::int64_t, std::size_t>> rank;  // (-nodes below, part), parts by their first units
            for (std::size_t i = 0; i < parts.size(); ++i) {
                std::int64_t nodes = 0;
                for (Unit& unit : parts[i]) nodes += level.size[unit = units[unit]];
                rank.emplace_back(-nodes, i);
            }
            std::sort(rank.begin(), rank.end());
            for (std::size_t i = 1; i < rank.size(); ++i) detach(l, community, parts[rank[i].second]);
        }
        return done;
    }

    void drop_region() {
        region_ = {};
        position_ = {};
    }

    std::size_t region_bytes() const { return position_.capacity() * sizeof(Unit) + region_.bytes(); }

   private:
    void enclose(int l, Unit community, const std::vector<Unit>& units) {
        const Level& level = *levels[l];
        if (position_.size() < level.degree.size()) position_.resize(level.degree.size());
        region_.start(units.size(), 2 * static_cast<Wide>(total), kResolution[l]);
        for (std::size_t i = 0; i < units.size(); ++i) position_[units[i]] = static_cast<Unit>(i);
        for (std::size_t i = 0; i < units.size(); ++i) {
            visit(l, units[i]);
            region_.set_degree(static_cast<Unit>(i), level.degree[units[i]]);
            for (const Entry entry : level.adjacency[units[i]])
                if (level.community[entry.unit] == community)
                    region_.link(static_cast<Unit>(i), position_[entry.unit], entry.weight);
        }
    }

    Region region_;
    std::vector<Unit> position_;  // valid for the units of the current region
};

}  // namespace communities
