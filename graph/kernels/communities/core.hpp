// The operations on the hierarchy, and the checks of batches.
//
// Invariants after every call: each partition is a set of connected communities, the hierarchy is a tree, every sum
// equals its recount. A rejected batch changes nothing.
//
// Whole communities are merged, because moves of single units cannot merge them: without merging, a growing graph keeps
// the communities of its early size, because the resolution limit of modularity grows with the total weight (Fortunato &
// Barthelemy 2007). Louvain (Blondel et al. 2008) adds a level instead; here the number of levels is fixed. Only siblings
// merge, so no coarser partition changes, and each merge is a strict gain: the lexicographic order of moving.hpp rises.
#pragma once

#include <stdexcept>
#include <string>

#include "dividing.hpp"

namespace communities {

constexpr int kPasses = 4;  // maximum of moves, splits and merges at one level
constexpr int kCycles = 3;  // maximum of passes over all levels when every unit is examined
// Maximum total weight: resolution x degree x degree then fits in 128 bits.
constexpr Weight kLimit = Weight{1} << 56;

struct Delta {
    Unit u, v;
    Weight weight;
};

struct Row {
    Id ident;
    std::int32_t level;
    Id parent;
};

struct Tree {
    std::vector<std::pair<Unit, Id>> assigned;
    std::vector<Row> rows;
    Id next_id = 1;
};

struct Change {
    std::vector<std::pair<Unit, Id>> nodes;
    std::vector<Row> children;
    std::vector<Id> removed;
};

class Core : public Dividing {
   public:
    Core() {
        while (top() < kDepth) push_level();
    }

    // Applies a batch of weight changes and returns the changed rows. Throws for an invalid batch before any change. Cost:
    // the neighbourhoods of the due units (levels.hpp), amortised over the changes that made them due; independent of the
    // size of the graph.
    Change update(std::vector<Delta> batch) {
        check(batch);
        begin();
        const Id first_new = next_id;
        std::vector<Unit> ends;
        for (const Delta& d : batch) ends.insert(ends.end(), {d.u, d.v});
        std::sort(ends.begin(), ends.end());
        ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
        if (!ends.empty()) levels[0]->extend(static_cast<std::size_t>(ends.back()) + 1, true);
        for (const Unit unit : ends)
            if (levels[0]->community[unit] < 0) enter(unit);
        for (const Delta& d : batch) change(d);
        for (const Unit unit : ends)
            if (levels[0]->degree[unit] == 0) leave(unit);
        ascend(first_new);
        Change found = changes();
        forget();
        return found;
    }

    // Inserts the edges of an empty kernel without computing communities. Cost: O(edges x log(edges)), the sort.
    void fill(std::vector<Delta> edges) {
        if (!levels[0]->degree.empty()) throw std::invalid_argument("only an empty kernel can be filled");
        check(edges);
        Level& level = *levels[0];
        std::vector<std::size_t> counts;
        for (const Delta& e : edges) {
            if (counts.size() <= static_cast<std::size_t>(e.v)) counts.resize(static_cast<std::size_t>(e.v) + 1, 0);
            ++counts[e.u];
            ++counts[e.v];
        }
        level.extend(counts.size(), true);
        for (std::size_t u = 0; u < counts.size(); ++u)
            if (counts[u] != 0) level.adjacency[u].reserve(counts[u]);
        for (const Delta& e : edges) level.adjacency[e.v].append(e.u, e.weight);
        for (const Delta& e : edges) {
            level.adjacency[e.u].append(e.v, e.weight);
            total += e.weight;
            level.degree[e.u] += e.weight;
            level.degree[e.v] += e.weight;
        }
        for (const Weight degree : level.degree) level.squares += static_cast<Wide>(degree) * degree;
    }

    // Computes the hierarchy of a filled kernel, level by level from singletons (Louvain: Blondel et al. 2008). Cost: at
    // most kRounds x kPasses scans of the edges per level, and kCycles x as many at the end.
    void build() {
        levels.resize(2);
        tracked_top = false;
        for (std::size_t u = 0; u < levels[0]->degree.size(); ++u) {
            const Unit unit = static_cast<Unit>(u);
            if (levels[0]->degree[u] == 0) continue;
            enter(unit);
            add_degree(1, levels[0]->community[u], levels[0]->degree[u]);
            touch(0, unit, levels[0]->degree[u]);
        }
        while (true) {
            settle_level(top() - 1, next_id);
            sum_weights(top() - 1);
            if (top() == kDepth) break;
            raise_top();
        }
        examine(next_id);
        load(tree());  // frees the slots of the initial singletons
    }

    // Examines every unit and checks every community for connectivity. Cost: linear in the graph, up to kCycles times.
    void settle() {
        const Id first_new = next_id;
        for (int l = 0; l < top(); ++l) {
            const Level& above = *levels[l + 1];
            for (std::size_t c = 0; c < above.ident.size(); ++c) {
                if (above.ident[c] == 0) continue;
                auto& units = loosened[l][static_cast<Unit>(c)];
                units.clear();
                for (Unit unit = above.first[c]; unit >= 0; unit = levels[l]->next[unit]) units.push_back(unit);
            }
            split(l);
        }
        examine(first_new);
        begin();
    }

    // Replaces the hierarchy by a stored one; all sums are recounted. Cost: O(edges + rows x log(rows)).
    void load(const Tree& tree) {
        begin();
        drop_scratch();
        drop_region();
        const int count = kDepth;
        levels.resize(1);
        for (int l = 0; l < count; ++l) push_level();
        begin();
        slots = {};
        next_id = tree.next_id;
        tracked_top = true;
        std::vector<Row> rows = tree.rows;
        std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.ident < b.ident; });
        std::vector<std::size_t> counts(count + 1, 0);
        for (const Row& row : rows) ++counts[row.level + 1];
        for (int l = 1; l <= count; ++l) levels[l]->reserve(counts[l], false);
        slots.reserve(rows.size());
        for (const Row& row : rows) {
            Level& level = *levels[row.level + 1];
            const Unit slot = static_cast<Unit>(level.degree.size());
            level.extend(slot + 1, false);
            level.ident[slot] = row.ident;
            slots[row.ident] = {row.level + 1, slot};
            ++level.live;
        }
        Level& bottom = *levels[0];
        bottom.live = static_cast<std::int64_t>(tree.assigned.size());
        std::fill(bottom.community.begin(), bottom.community.end(), kNobody);
        for (const auto& [unit, ident] : tree.assigned) {
            bottom.size[unit] = 1;
            join(0, unit, slots.at(ident).unit);
        }
        for (const Row& row : rows)
            if (row.parent != kNone) join(row.level + 1, slots.at(row.ident).unit, slots.at(row.parent).unit);
        for (int l = 0; l < top(); ++l) sum_members(l);
    }

    Tree tree() const {
        Tree tree;
        tree.next_id = next_id;
        for (std::size_t u = 0; u < levels[0]->community.size(); ++u) {
            const Unit unit = static_cast<Unit>(u);
            if (levels[0]->community[u] >= 0) tree.assigned.emplace_back(unit, parent_id(0, unit));
        }
        for (const auto& [ident, slot] : slots) tree.rows.push_back({ident, slot.level - 1, parent_id(slot.level, slot.unit)});
        std::sort(tree.rows.begin(), tree.rows.end(), [](const Row& a, const Row& b) { return a.ident < b.ident; });
        return tree;
    }

    std::size_t bytes() const {
        std::size_t total_bytes = slots.bucket_count() * 8 + slots.size() * 48;  // node, its pointer and allocator overhead
        for (const auto& level : levels) total_bytes += level->bytes();
        return total_bytes + scratch_bytes() + region_bytes() + noted_bytes();
    }

   private:
    // Sorts the batch, sums the changes of each edge, and removes zeros. Throws for self-loops, negative nodes, weights
    // below zero and a total above kLimit. Cost: O(n log n) for n changes.
    void check(std::vector<Delta>& batch) const {
        for (Delta& d : batch) {
            if (d.u == d.v || d.u < 0 || d.v < 0)
                throw std::invalid_argument("edge (" + std::to_string(d.u) + ", " + std::to_string(d.v) +
                                            "): two different nodes, not negative, are needed");
            if (d.u > d.v) std::swap(d.u, d.v);
        }
        std::sort(batch.begin(), batch.end(),
                  [](const Delta& a, const Delta& b) { return std::tie(a.u, a.v) < std::tie(b.u, b.v); });
        std::vector<Delta> summed;
        Wide grown = total;
        for (std::size_t i = 0; i < batch.size();) {
            Wide sum = 0;
            std::size_t j = i;
            for (; j < batch.size() && batch[j].u == batch[i].u && batch[j].v == batch[i].v; ++j) sum += batch[j].weight;
            const auto [u, v, ignored] = batch[i];
            const auto& adjacency = levels[0]->adjacency;
            const Weight weight = static_cast<std::size_t>(u) < adjacency.size() ? adjacency[u].weight(v) : 0;
            if (weight + sum < 0)
                throw std::invalid_argument("edge (" + std::to_string(u) + ", " + std::to_string(v) + "): weight " +
                                            std::to_string(weight) + " cannot fall below zero");
            if (sum > 0) grown += sum;
            if (grown > kLimit) throw std::invalid_argument("the total weight would pass " + std::to_string(kLimit));
            if (sum != 0) summed.push_back({u, v, static_cast<Weight>(sum)});
            i = j;
        }
        batch = std::move(summed);
    }

    // Adds a node, with a chain of new communities.
    void enter(Unit node) {
        Level& level = *levels[0];
        journal[0][node] = kNew;
        ++level.live;
        level.size[node] = 1;
        const Unit bottom = open_chain(0, top() - 1, kNobody);
        join(0, node, bottom);
        resize_chain(bottom, 1);
    }

    // Removes a node without edges, and the communities that become empty.
    void leave(Unit node) {
        Level& level = *levels[0];
        const Unit bottom = level.community[node];
        record(0, node);
        untouch(0, node);
        resize_chain(bottom, -1);
        part(0, node);
        level.size[node] = 0;
        --level.live;
        close_if_empty(0, bottom);
    }

    void resize_chain(Unit bottom, Unit delta) {
        chain(0, bottom, path_);
        for (int s = 1; s <= top(); ++s) levels[s]->size[path_[s - 1]] += delta;
    }

    // Adds the weight to the edge on every level up to the first common community. Cost: O(levels x (memmove of a
    // neighbour list + log(degree))).
    void change(Delta d) {
        total += d.weight;
        bool together = false;
        for (int s = 0; s <= top(); ++s) {
            Level& level = *levels[s];
            add_degree(s, d.u, d.weight);
            add_degree(s, d.v, d.weight);
            if (!together) add_edge(s, d.u, d.v, d.weight);
            if (s == top()) break;
            d.u = level.community[d.u];
            d.v = level.community[d.v];
            together = d.u == d.v;
            if (together) level.inside += d.weight;
        }
    }

    bool ascend(Id first_new) {
        bool moved = false;
        for (int l = 0; l < top(); ++l) moved |= settle_level(l, first_new);
        return moved;
    }

    // Moves units, splits, divides and merges communities of partition l until nothing changes, at most kPasses times; true
    // if anything changed.
    bool settle_level(int l, Id first_new) {
        bool moved = false;
        for (int pass = 0; pass < kPasses; ++pass) {
            moved |= propagate(l);
            bool apart = split(l);
            if (pass == 0) apart |= divide(l);
            const bool merged = tracked_top && merge(l);
            if (!apart && !merged) break;
            moved = true;
        }
        settle_names(l, first_new);
        return moved;
    }

    // Merges due communities of partition l with the sibling of the largest modularity gain; true if any merged. Cost: the
    // degrees of the due communities and the members of the smaller ones.
    bool merge(int l) {
        Level& above = *levels[l + 1];
        std::vector<Unit> queue, again;
        for (const Touch& touch : touches[l + 1])
            if (touch.unit != kNobody && due(l + 1, touch)) queue.push_back(touch.unit);
        bool done = false;
        for (int round = 0; round < kRounds && !queue.empty(); ++round) {
            sort_by_key(l + 1, queue);
            again.clear();
            for (const Unit unit : queue) {
                if (above.ident[unit] == 0) continue;
                const Unit other = partner(l, unit);
                if (other < 0) continue;
                done = true;
                const bool smaller = std::make_pair(above.size[unit], -above.ident[unit]) <
                                     std::make_pair(above.size[other], -above.ident[other]);
                const Unit kept = smaller ? other : unit;
                absorb(l, smaller ? unit : other, kept);
                again.push_back(kept);
            }
            std::sort(again.begin(), again.end());
            again.erase(std::unique(again.begin(), again.end()), again.end());
            queue.swap(again);
        }
        return done;
    }

    // Returns the sibling of the largest positive gain, the smaller ident among equals; kNobody without one. Cost:
    // O(degree).
    Unit partner(int l, Unit unit) const {
        const Level& above = *levels[l + 1];
        const Wide twice = 2 * static_cast<Wide>(total), scaled = static_cast<Wide>(above.degree[unit]) * kResolution[l];
        Unit best = kNobody;
        Wide best_gain = 0;
        for (const Entry entry : above.adjacency[unit]) {
            if (above.community[entry.unit] != above.community[unit]) continue;
            const Wide gain = entry.weight * twice - scaled * above.degree[entry.unit];
            if (gain > best_gain || (gain == best_gain && best >= 0 && above.ident[entry.unit] < above.ident[best])) {
                best = entry.unit;
                best_gain = gain;
            }
        }
        return best;
    }

    // Moves all members of the smaller community to the larger one. Cost: the members and their neighbours.
    void absorb(int l, Unit small, Unit large) {
        std::vector<Unit> units;
        for (Unit unit = levels[l + 1]->first[small]; unit >= 0; unit = levels[l]->next[unit]) units.push_back(unit);
        sort_by_key(l, units);
        for (const Unit unit : units) {
            touch(l, unit, levels[l]->degree[unit]);
            gather(l, unit);
            transfer(l, unit, large);
        }
    }

    // Adds a level on top with one community per unit; its sums of weights are not maintained until `sum_weights`.
    void raise_top() {
        push_level();
        Level& below = *levels[top() - 1];
        Level& above = *levels[top()];
        below.inside = levels[top() - 2]->inside;
        tracked_top = false;
        std::vector<Unit> units;
        for (std::size_t u = 0; u < below.ident.size(); ++u)
            if (below.ident[u] != 0) units.push_back(static_cast<Unit>(u));
        sort_by_key(top() - 1, units);
        for (const Unit unit : units) {
            record(top() - 1, unit);
            touch(top() - 1, unit, below.degree[unit]);
            const Unit slot = open_community(top() - 1, kNobody);
            join(top() - 1, unit, slot);
            above.degree[slot] = below.degree[unit];
            above.size[slot] = below.size[unit];
            above.squares += static_cast<Wide>(below.degree[unit]) * below.degree[unit];
        }
    }

    // Computes the weights between all communities of partition l; returns twice the weight inside them. Cost: O(edges of
    // the level), and a sort of each community's neighbours.
    Weight sum_weights(int l) {
        const Level& level = *levels[l];
        Level& above = *levels[l + 1];
        Weight twice_inside = 0;
        std::unordered_map<Unit, Weight> weights;
        std::vector<std::pair<Unit, Weight>> row;
        for (std::size_t c = 0; c < above.ident.size(); ++c) {
            if (above.ident[c] == 0) continue;
            weights.clear();
            for (Unit unit = above.first[c]; unit >= 0; unit = level.next[unit])
                for (const Entry entry : level.adjacency[unit]) {
                    const Unit other = level.community[entry.unit];
                    if (other == static_cast<Unit>(c)) {
                        twice_inside += entry.weight;
                    } else {
                        weights[other] += entry.weight;
                    }
                }
            row.assign(weights.begin(), weights.end());
            std::sort(row.begin(), row.end());
            if (!row.empty()) above.adjacency[c].reserve(row.size());
            for (const auto& [other, weight] : row) above.adjacency[c].append(other, weight);
        }
        tracked_top = true;
        return twice_inside;
    }

    // Recounts degrees, sizes and inner weights of the communities of partition l from their members. Cost: as above.
    void sum_members(int l) {
        Level& level = *levels[l];
        Level& above = *levels[l + 1];
        for (std::size_t c = 0; c < above.ident.size(); ++c) {
            for (Unit unit = above.first[c]; unit >= 0; unit = level.next[unit]) {
                above.degree[c] += level.degree[unit];
                above.size[c] += level.size[unit];
            }
            above.squares += static_cast<Wide>(above.degree[c]) * above.degree[c];
        }
        level.inside = sum_weights(l) / 2 + (l > 0 ? levels[l - 1]->inside : 0);
    }

    // Marks every unit as changed and maintains all levels, until nothing moves or kCycles times.
    void examine(Id first_new) {
        for (int cycle = 0; cycle < kCycles; ++cycle) {
            for (int l = 0; l <= top(); ++l)
                for (std::size_t u = 0; u < levels[l]->degree.size(); ++u)
                    if (levels[l]->degree[u] != 0) touch(l, static_cast<Unit>(u), levels[l]->degree[u]);
            if (!ascend(first_new)) break;
        }
    }

    Change changes() const {
        Change change;
        for (const auto& [node, before] : journal[0]) {
            const Id now = parent_id(0, static_cast<Unit>(node));
            if (now != std::max(before, kNone)) change.nodes.emplace_back(static_cast<Unit>(node), now);
        }
        for (std::size_t l = 1; l < journal.size(); ++l)
            for (const auto& [ident, before] : journal[l]) {
                const auto at = slots.find(ident);
                if (at == slots.end()) {
                    if (before != kNew) change.removed.push_back(ident);
                } else if (const Id now = parent_id(static_cast<int>(l), at->second.unit); now != before) {
                    change.children.push_back({ident, static_cast<std::int32_t>(l) - 1, now});
                }
            }
        std::sort(change.nodes.begin(), change.nodes.end());
        std::sort(change.children.begin(), change.children.end(),
                  [](const Row& a, const Row& b) { return a.ident < b.ident; });
        std::sort(change.removed.begin(), change.removed.end());
        return change;
    }

    std::vector<Unit> path_;
};

}  // namespace communities
