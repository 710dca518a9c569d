// Connectivity of communities: a disconnected community is split, in every partition.
//
// The search uses this invariant: when a community becomes disconnected, each of its components contains a member that
// lost a link inside it (a component without such a member was disconnected before). The searches therefore start from
// those members, and take turns. The cost is bounded by the smaller components or by the detour around the lost link, not
// by the size of the community.
#pragma once

#include <numeric>
#include <unordered_map>

#include "moving.hpp"

namespace communities {

class Splitting : public Moving {
   public:
    // Splits each community of partition l that lost an inner link into its components; true if any was disconnected. The
    // component with the most nodes keeps the id.
    bool split(int l) {
        Level& level = *levels[l];
        auto noted = std::move(loosened[l]);
        loosened[l].clear();
        std::vector<Unit> order;
        for (const auto& [community, units] : noted) order.push_back(community);
        sort_by_key(l + 1, order);
        bool done = false;
        for (const Unit community : order) {
            std::vector<Unit> seeds;
            for (const Unit unit : noted[community])
                if (level.community[unit] == community) seeds.push_back(unit);
            std::sort(seeds.begin(), seeds.end());
            seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
            if (seeds.size() < 2) continue;
            auto pieces = parts(l, community, seeds);
            if (pieces.size() < 2) continue;
            done = true;
            std::vector<std::pair<std::int64_t, std::size_t>> rank;  // (-nodes below, piece), pieces sorted by first key
            for (auto& units : pieces) sort_by_key(l, units);
            std::sort(pieces.begin(), pieces.end(),
                      [&](const auto& a, const auto& b) { return key(l, a[0]) < key(l, b[0]); });
            for (std::size_t i = 0; i < pieces.size(); ++i) {
                std::int64_t nodes = 0;
                for (const Unit unit : pieces[i]) nodes += level.size[unit];
                rank.emplace_back(-nodes, i);
            }
            std::sort(rank.begin(), rank.end());
            for (std::size_t i = 1; i < rank.size(); ++i) detach(l, community, pieces[rank[i].second]);
        }
        return done;
    }

   protected:
    // Moves the units to a new sibling of their community. Cost: the units and their neighbours.
    void detach(int l, Unit community, const std::vector<Unit>& units) {
        const Unit parent = levels[l + 1]->community[community];
        const Unit target = open_community(l, parent);
        if (parent >= 0) {
            auto& noted = loosened[l + 1][parent];
            noted.push_back(community);
            noted.push_back(target);
        }
        for (const Unit unit : units) {
            touch(l, unit, levels[l]->degree[unit]);
            gather(l, unit);
            transfer(l, unit, target);
        }
    }
   private:
    struct Search {
        std::vector<Unit> found;
        std::vector<Unit> fringe;  // a stack: the order does not change the components
    };

    // Returns the components of the community, from searches that start at the seeds; searches that meet are merged, the
    // smaller into the larger (union-find). It stops when all have merged into one.
    std::vector<std::vector<Unit>> parts(int l, Unit community, const std::vector<Unit>& seeds) {
        const Level& level = *levels[l];
        std::vector<Unit> root(seeds.size());
        std::iota(root.begin(), root.end(), 0);
        std::vector<Search> searches(seeds.size());
        std::unordered_map<Unit, Unit> group;
        for (std::size_t i = 0; i < seeds.size(); ++i) {
            group[seeds[i]] = static_cast<Unit>(i);
            searches[i] = {{seeds[i]}, {seeds[i]}};
        }
        std::size_t groups = seeds.size();
        const auto find = [&](Unit i) {
            while (root[i] != i) i = root[i] = root[root[i]];
            return i;
        };
        const auto expand = [&](Unit i) {
            const Unit unit = searches[i].fringe.back();
            searches[i].fringe.pop_back();
            for (const Entry entry : level.adjacency[unit]) {
                if (level.community[entry.unit] != community) continue;
                const auto [at, fresh] = group.try_emplace(entry.unit, i);
                if (fresh) {
                    searches[i].found.push_back(entry.unit);
                    searches[i].fringe.push_back(entry.unit);
                    continue;
                }
                Unit met = find(at->second);
                if (met == i) continue;
                if (searches[met].found.size() < searches[i].found.size()) std::swap(met, i);
                merge(searches[met], searches[i]);
                root[i] = met;
                i = met;
                if (--groups == 1) return;
            }
        };
        std::vector<Unit> active(root), open;
        while (true) {
            open.clear();
            for (const Unit i : active)
                if (root[i] == i && !searches[i].fringe.empty()) open.push_back(i);
            active = open;
            if (active.size() <= 1 || groups == 1) break;
            for (const Unit i : active)
                if (root[i] == i && !searches[i].fringe.empty()) expand(i);
        }
        while (groups > 1 && !active.empty() && !searches[active[0]].fringe.empty()) expand(active[0]);
        std::vector<std::vector<Unit>> pieces;
        for (std::size_t i = 0; i < seeds.size(); ++i)
            if (root[i] == static_cast<Unit>(i)) pieces.push_back(std::move(searches[i].found));
        return pieces;
    }

    static void merge(Search& large, Search& small) {
        large.found.insert(large.found.end(), small.found.begin(), small.found.end());
        large.fringe.insert(large.fringe.end(), small.fringe.begin(), small.fringe.end());
        small = {};
    }

};

}  // namespace communities
