// The index from blocking key to labels, and from label to its keys.
//
// A key is the upper 61 bits of a hash. With a label it is stored with two bits of role and one that tells whether it is
// of the label's words or of its vector, in one 64-bit number. A block with one member, which most are, is stored in the
// table itself; the others have a list of members. One thread at a time; no operation depends on the number of labels.
#pragma once

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

    // Index a label under these entries and no others. Returns the keys of blocks that closed or opened.
    std::vector<Key> put(Label label, const Entries& entries) {
        std::vector<Key> crossed;
        const EntrySpan old = labels_.find(label);
        for (const Entry entry : old)
            if (!with_role(entries, entry) && leave(key_of(entry), label)) crossed.push_back(key_of(entry));
        for (const Entry entry : entries)
            if (!with_role(old, entry) && enter(key_of(entry), label, role_of(entry)))
                crossed.push_back(key_of(entry));
        labels_.put(label, entries);
        return crossed;
    }

    std::vector<Key> remove(Label label) {
        std::vector<Key> crossed;
        for (const Entry entry : entries(label))
            if (leave(key_of(entry), label)) crossed.push_back(key_of(entry));
        labels_.erase(label);
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
        if (const Members* block = listed(key)) {
            block->each([&](Label label, Role) { found.push_back(label); });
        } else if (const std::uint32_t* value = blocks_.find(key)) {
            found.push_back(only(*value).label);
        }
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
        std::size_t total = blocks_.bytes() + lists_.capacity() * sizeof(Members) + free_.capacity() * 4;
        for (const Members& list : lists_) total += list.bytes();
        return total + labels_.bytes();
    }

 private:
    // A value of the table: a single member as label, role and the bit 1, or the place of a list.
    static std::uint32_t single(Label label, Role role) {
        return static_cast<std::uint32_t>(label) << 3 | static_cast<std::uint32_t>(role) << 1 | 1;
    }
    static Member only(std::uint32_t value) {
        return {static_cast<Label>(value >> 3), static_cast<Role>(value >> 1 & ROLES)};
    }
    static bool is_single(std::uint32_t value) { return value & 1; }
    static std::uint32_t list_at(std::size_t place) { return static_cast<std::uint32_t>(place + 1) << 1; }

    // Whether the entries contain this key with the same role.
    template <typename Held>
    static bool with_role(const Held& entries, Entry wanted) {
        for (const Entry entry : entries)
            if (key_of(entry) == key_of(wanted) && role_of(entry) == role_of(wanted)) return true;
        return false;
    }

    Members* listed(Key key) {
        const std::uint32_t* value = blocks_.find(key);
        return value && !is_single(*value) ? &lists_[(*value >> 1) - 1] : nullptr;
    }

    // Returns whether the block closed.
    bool enter(Key key, Label label, Role role) {
        std::uint32_t* value = blocks_.find(key);
        if (!value) {
            blocks_.insert(key, single(label, role));
            return most_ == 0;
        }
        if (is_single(*value)) {
            const Member first = only(*value);
            if (first.label == label) {
                *value = single(label, role);
                return false;
            }
            *value = list_at(new_list());
            listed(key)->put(first.label, first.role);
        }
        Members& block = *listed(key);
        const std::size_t before = block.size();
        block.put(label, role);
        return block.size() == most_ + 1 && before == most_;
    }

    // Returns whether the block opened.
    bool leave(Key key, Label label) {
        std::uint32_t* value = blocks_.find(key);
        if (is_single(*value)) {
            blocks_.erase(key);
            return most_ == 0;
        }
        const std::size_t place = (*value >> 1) - 1;
        Members& block = lists_[place];
        block.erase(label);
        const std::size_t left = block.size();
        if (left == 1) {
            block.each([&](Label last, Role role) { *value = single(last, role); });
            lists_[place] = {};
            free_.push_back(static_cast<std::uint32_t>(place));
        }
        return left == most_;
    }

    std::size_t new_list() {
        if (free_.empty()) {
            lists_.emplace_back();
            return lists_.size() - 1;
        }
        const std::size_t place = free_.back();
        free_.pop_back();
        return place;
    }

    std::size_t most_;
    Table blocks_;
    std::vector<Members> lists_;
    std::vector<std::uint32_t> free_;
    LabelEntries labels_;
};

}  // namespace blocks
