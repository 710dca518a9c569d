// The index from blocking key to labels, and from label to its keys.
//
// A key is the upper 61 bits of a hash. With a label it is stored with two bits of role and one that tells whether it is
// of the label's words or of its vector, in one 64-bit number. The table refers to a block's only member, which most
// blocks have, or to a list of members; a key is stored with its label, and with its list. One thread at a time; no
// operation depends on the number of labels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "label_entries.hpp"
#include "members.hpp"
#include "table.hpp"

namespace blocks {

using Key = std::uint64_t;
using Entries = std::vector<Entry>;
using Pair = std::pair<Label, Label>;

constexpr Role SHORT = 1, FULL = 2;
constexpr Entry OF_VECTOR = 4;

inline Key key_of(Entry entry) { return entry >> 3; }
inline Role role_of(Entry entry) { return static_cast<Role>(entry & ROLES); }
inline bool is_of_vector(Entry entry) { return entry & OF_VECTOR; }
inline bool compatible(Role a, Role b) { return ((a & SHORT) && (b & FULL)) || ((a & FULL) && (b & SHORT)); }

class Index {
 public:
    explicit Index(std::size_t most) : most_(most) {}

    // Index a label under these entries, at most MOST_ENTRIES, and no others. Returns the keys of blocks that closed or
    // opened.
    std::vector<Key> put(Label label, const Entries& entries) {
        make_room(label, entries.size());
        for (const Entry entry : entries) blocks_.fetch(key_of(entry));
        std::vector<Key> crossed;
        const EntrySpan old = labels_.find(label);
        Entries entered;
        for (const Entry entry : entries)
            if (!with_role(old, entry)) entered.push_back(entry);
        for (const Entry entry : old)
            if (!with_role(entries, entry) && leave(key_of(entry), label)) crossed.push_back(key_of(entry));
        labels_.put(label, entries);
        for (const Entry entry : entered)
            if (enter(key_of(entry), label, role_of(entry))) crossed.push_back(key_of(entry));
        if (blocks_.is_sparse()) renew(label, 0);
        return crossed;
    }

    std::vector<Key> remove(Label label) {
        std::vector<Key> crossed;
        for (const Entry entry : entries(label))
            if (leave(key_of(entry), label)) crossed.push_back(key_of(entry));
        labels_.erase(label);
        if (blocks_.is_sparse()) renew(0, 0);
        return crossed;
    }

    EntrySpan entries(Label label) {
        if (!labels_.holds(label)) throw std::out_of_range("the label is not indexed");
        return labels_.find(label);
    }

    std::vector<Label> candidates(Label label) {
        std::vector<Label> found;
        for (const Entry entry : entries(label)) {
            const Members* block = listed(key_of(entry));
            if (!block || block->size() > most_) continue;
            block->each([&](Label other, Role role) {
                if (other != label && compatible(role_of(entry), role)) found.push_back(other);
            });
        }
        return found;
    }

    bool are_candidates(Label a, Label b) {
        const EntrySpan others = entries(b);
        for (const Entry entry : entries(a))
            for (const Entry other : others)
                if (key_of(entry) == key_of(other) && compatible(role_of(entry), role_of(other))) {
                    const Members* block = listed(key_of(entry));
                    if (block && block->size() <= most_) return true;
                }
        return false;
    }

    std::vector<Label> members(Key key) {
        std::vector<Label> found;
        const std::size_t at = block_of(key);
        if (at == Table::NOWHERE) return found;
        const Reference reference = blocks_.reference(at);
        if (is_single(reference))
            found.push_back(label_of(reference));
        else
            list_of(reference).members.each([&](Label label, Role) { found.push_back(label); });
        return found;
    }

    // The candidate pairs that a block proposes: none if it is closed.
    std::vector<Pair> pairs(Key key) {
        std::vector<Pair> found;
        const Members* block = listed(key);
        if (!block || block->size() > most_) return found;
        std::vector<Member> all;
        block->each([&](Label label, Role role) { all.push_back({label, role}); });
        for (std::size_t a = 0; a < all.size(); ++a)
            for (std::size_t b = a + 1; b < all.size(); ++b)
                if (compatible(all[a].role, all[b].role)) found.emplace_back(all[a].label, all[b].label);
        return found;
    }

    std::size_t size() const { return labels_.size(); }

    std::size_t bytes() const {
        std::size_t total = blocks_.bytes() + lists_.capacity() * sizeof(List) + free_.capacity() * 4;
        for (const List& list : lists_) total += list.members.bytes();
        return total + labels_.bytes();
    }

 private:
    using Reference = Table::Reference;  // a label and the bit 1, or the place of a list

    struct List {
        Key key = 0;
        Members members;  // none if the list is free
    };

    static bool is_single(Reference reference) { return reference & 1; }
    static Reference single(Label label) { return static_cast<Reference>(label) << 1 | 1; }
    static Label label_of(Reference reference) { return reference >> 1; }
    static Reference list_at(std::size_t place) { return static_cast<Reference>(place + 1) << 1; }
    List& list_of(Reference reference) { return lists_[(reference >> 1) - 1]; }

    // Whether the entries contain this key with the same role.
    template <typename Held>
    static bool with_role(const Held& entries, Entry wanted) {
        for (const Entry entry : entries)
            if (key_of(entry) == key_of(wanted) && role_of(entry) == role_of(wanted)) return true;
        return false;
    }

    // Returns the place of the block that has a list with this key, or else whose single member has it and is not the
    // given label.
    //
    // Slots of single members with equal tags and labels are equal, so any of them serves for each of these keys, as
    // long as there are as many slots as keys. All of them are between a key's home slot and the next free one.
    std::size_t block_of(Key key, Label without = -1) {
        std::size_t member_at = Table::NOWHERE;
        const std::size_t at = blocks_.find(key, [&](std::size_t place, Reference reference) {
            if (!is_single(reference)) return list_of(reference).key == key;
            const Label label = label_of(reference);
            if (member_at != Table::NOWHERE || label == without) return false;
            bool found = false;
            std::size_t alike = 0;
            for (const Entry entry : labels_.find(label)) {
                found |= key_of(entry) == key;
                alike += blocks_.tag(key_of(entry)) == blocks_.tag(key);
            }
            if (found) member_at = place;
            return found && alike == 1;  // with more, the slot may be another key's, and this one may have a list
        });
        return at == Table::NOWHERE ? member_at : at;
    }

    Members* listed(Key key) {
        const std::size_t at = block_of(key);
        if (at == Table::NOWHERE || is_single(blocks_.reference(at))) return nullptr;
        return &list_of(blocks_.reference(at)).members;
    }

    // Returns whether the block closed. The label's entries contain the key already.
    bool enter(Key key, Label label, Role role) {
        const std::size_t at = block_of(key, label);
        if (at == Table::NOWHERE) {
            blocks_.insert(key, single(label));
            return most_ == 0;
        }
        if (is_single(blocks_.reference(at))) {
            const Label first = label_of(blocks_.reference(at));
            const std::size_t place = new_list(key);
            for (const Entry entry : labels_.find(first))
                if (key_of(entry) == key) lists_[place].members.put(first, role_of(entry));
            blocks_.refer(at, list_at(place));
        }
        Members& block = list_of(blocks_.reference(at)).members;
        const std::size_t before = block.size();
        block.put(label, role);
        return block.size() == most_ + 1 && before == most_;
    }

    // Returns whether the block opened. The label's entries still contain the key.
    bool leave(Key key, Label label) {
        const std::size_t at = block_of(key);
        const Reference reference = blocks_.reference(at);
        if (is_single(reference)) {
            blocks_.erase(at);
            return most_ == 0;
        }
        Members& block = list_of(reference).members;
        block.erase(label);
        const std::size_t left = block.size();
        if (left == 1) {
            block.each([&](Label last, Role) { blocks_.refer(at, single(last)); });
            block = {};
            free_.push_back((reference >> 1) - 1);
        }
        return left == most_;
    }

    std::size_t new_list(Key key) {
        std::size_t place = lists_.size();
        if (free_.empty()) {
            if (place == lists_.capacity()) lists_.reserve(place + place / 8 + 4);
            lists_.emplace_back();
        } else {
            place = free_.back();
            free_.pop_back();
        }
        lists_[place].key = key;
        return place;
    }

    // Makes room for a label with this number of entries. All entries of all labels must be in their blocks.
    void make_room(Label label, std::size_t count) {
        if (!blocks_.fits(count, largest(label, count))) renew(label, count);
    }

    Reference largest(Label label, std::size_t count) const {
        return std::max(single(label), list_at(lists_.size() + count));
    }

    // Makes the table anew. Cost: the number of entries, O(1) for each that has come or gone since, amortised.
    void renew(Label label, std::size_t count) {
        if (free_.size() > lists_.size() / 4) drop_free_lists();
        Table table = blocks_.renewed(count, largest(label, count));
        for (std::size_t place = 0; place < lists_.size(); ++place)
            if (lists_[place].members.size()) table.insert(lists_[place].key, list_at(place));
        labels_.each([&](Label known, const EntrySpan entries) {
            for (const Entry entry : entries) table.fetch(key_of(entry));
            for (const Entry entry : entries) {
                const Key key = key_of(entry);
                const auto is_listed = [&](std::size_t, Reference reference) {
                    return !is_single(reference) && list_of(reference).key == key;
                };
                if (table.find(key, is_listed) == Table::NOWHERE) table.insert(key, single(known));
            }
        });
        std::swap(blocks_, table);
    }

    void drop_free_lists() {
        std::vector<List> used;
        used.reserve(lists_.size() - free_.size());
        for (List& list : lists_)
            if (list.members.size()) used.push_back(std::move(list));
        lists_.swap(used);
        std::vector<std::uint32_t>().swap(free_);
    }

    std::size_t most_;
    Table blocks_;
    std::vector<List> lists_;
    std::vector<std::uint32_t> free_;
    LabelEntries labels_;
};

}  // namespace blocks
