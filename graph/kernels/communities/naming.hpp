// Matching of community ids: after the moves of one level, an id belongs to the community that contains most of its
// nodes.
//
// Units move one by one, so all members of a large community may move to a small one; without this matching the small
// one's id would remain. Only the id moves to another slot; members and weights do not. Ids that were allocated during
// the update are not published yet, so they are never preferred.
#pragma once

#include <map>
#include <set>
#include <tuple>

#include "splitting.hpp"

namespace communities {

class Naming : public Splitting {
   public:
    // Reassigns the ids of partition l, largest overlap first. Cost: O(moved units, and the members of renamed communities).
    void settle_names(int l, Id first_new) {
        const Level& level = *levels[l];
        const Level& above = *levels[l + 1];
        shared_.clear();
        stayed_.clear();
        for (const auto& [unit_key, before] : journal[l]) {
            const Unit unit = unit_of(l, unit_key);
            if (unit < 0) continue;
            const Unit slot = level.community[unit];
            if (slot < 0 || before == above.ident[slot]) continue;
            stayed_.try_emplace(slot, above.size[slot]).first->second -= level.size[unit];
            if (before > 0 && before < first_new) shared_[{before, slot}] += level.size[unit];
        }
        if (shared_.empty()) return;
        std::map<Unit, std::int64_t> own;  // slot -> level-0 nodes that it contained before
        for (const auto& [slot, nodes] : stayed_) own[slot] = above.ident[slot] < first_new ? nodes : 0;
        for (const auto& [pair, nodes] : shared_) {
            const auto holder = slots.find(pair.first);
            if (holder != slots.end()) own.try_emplace(holder->second.unit, above.size[holder->second.unit]);
        }
        if (contested(own)) rename(l, first_new, own);
    }

   private:
    Unit unit_of(int l, Id unit_key) const {
        if (l == 0) return static_cast<Unit>(unit_key);
        const auto at = slots.find(unit_key);
        return at == slots.end() ? kNobody : at->second.unit;
    }

    // Returns true if an id has more nodes in another slot than in its own.
    bool contested(const std::map<Unit, std::int64_t>& own) const {
        for (const auto& [pair, nodes] : shared_) {
            const auto holder = slots.find(pair.first);
            const std::int64_t kept = holder == slots.end() ? 0 : own.at(holder->second.unit);
            if (nodes > own.at(pair.second) && nodes > kept) return true;
        }
        return false;
    }

    // Assigns ids to slots greedily by overlap; ties by id. Slots without an id keep theirs or get a new one.
    void rename(int l, Id first_new, const std::map<Unit, std::int64_t>& own) {
        Level& above = *levels[l + 1];
        std::vector<std::tuple<std::int64_t, Id, Id, Unit>> claims;  // (-nodes, id, present id of the slot, slot)
        for (const auto& [pair, nodes] : shared_)
            claims.emplace_back(-nodes, pair.first, above.ident[pair.second], pair.second);
        for (const auto& [slot, nodes] : own)
            if (above.ident[slot] < first_new) claims.emplace_back(-nodes, above.ident[slot], above.ident[slot], slot);
        std::sort(claims.begin(), claims.end());
        std::map<Unit, Id> names;
        std::set<Id> taken;
        for (const auto& [nodes, ident, present, slot] : claims)
            if (taken.count(ident) == 0 && names.try_emplace(slot, ident).second) taken.insert(ident);
        std::vector<Unit> order;
        for (const auto& [slot, nodes] : own) order.push_back(slot);
        sort_by_key(l + 1, order);
        for (const Unit slot : order)
            if (names.count(slot) == 0) names[slot] = taken.count(above.ident[slot]) != 0 ? next_id++ : above.ident[slot];
        for (auto it = names.begin(); it != names.end();)
            it = above.ident[it->first] == it->second ? names.erase(it) : std::next(it);
        for (const auto& [slot, ident] : names) {
            for (Unit unit = above.first[slot]; unit >= 0; unit = levels[l]->next[unit]) record(l, unit);
            record(l + 1, slot);
        }
        for (const auto& [slot, ident] : names) slots.erase(above.ident[slot]);
        for (const auto& [slot, ident] : names) {
            above.ident[slot] = ident;
            slots[ident] = {l + 1, slot};
            journal[l + 1].try_emplace(ident, kNew);
        }
    }

    std::map<std::pair<Id, Unit>, std::int64_t> shared_;
    std::unordered_map<Unit, std::int64_t> stayed_;
};

}  // namespace communities
