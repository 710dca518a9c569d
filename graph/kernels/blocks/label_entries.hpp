// The entries of each label: arrays that have exactly their size in one pool, found by label in pages.
//
// Labels without entries are held too. An array that is no longer used is in the list of free arrays of its size, which
// begin with the place of the next one; the pool is made anew when a fifth of it is free.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "../common/growing_array.hpp"
#include "members.hpp"

namespace blocks {

using Entry = std::uint64_t;

// The most entries of a label.
constexpr std::size_t MOST_ENTRIES = 65534;

// The entries of one label, valid until those of any label change.
struct EntrySpan {
    const Entry* first = nullptr;
    std::size_t count = 0;

    const Entry* begin() const { return first; }
    const Entry* end() const { return first + count; }
};

class LabelEntries {
 public:
    bool holds(Label label) const {
        const Page* page = page_of(label);
        return page && page->counts[within(label)] != ABSENT;
    }

    // No entries for an unknown label.
    EntrySpan find(Label label) const {
        const Page* page = page_of(label);
        if (!page || page->counts[within(label)] == ABSENT) return {};
        return {pool_.data() + page->starts[within(label)], page->counts[within(label)]};
    }

    // At most MOST_ENTRIES.
    void put(Label label, const std::vector<Entry>& entries) {
        Page& page = made_page(label);
        std::uint16_t& count = page.counts[within(label)];
        if (count != entries.size()) {
            const std::uint32_t start = taken(entries.size());
            if (count == ABSENT) {
                ++page.held;
                ++size_;
            } else {
                give_back(page.starts[within(label)], count);
            }
            page.starts[within(label)] = start;
            count = static_cast<std::uint16_t>(entries.size());
        }
        std::copy(entries.begin(), entries.end(), pool_.data() + page.starts[within(label)]);
        tidy();
    }

    // The label must be held.
    void erase(Label label) {
        Page& page = *page_of(label);
        give_back(page.starts[within(label)], page.counts[within(label)]);
        page.counts[within(label)] = ABSENT;
        --size_;
        if (!--page.held) pages_[number(label)].reset();
        tidy();
    }

    // Calls visit(label, entries) for each label, in ascending order.
    template <typename Visit>
    void each(Visit visit) const {
        for (std::size_t at = 0; at < pages_.size(); ++at)
            for (std::size_t i = 0; pages_[at] && i < PER_PAGE; ++i)
                if (pages_[at]->counts[i] != ABSENT)
                    visit(static_cast<Label>(at * PER_PAGE + i),
                          EntrySpan{pool_.data() + pages_[at]->starts[i], pages_[at]->counts[i]});
    }

    std::size_t size() const { return size_; }

    std::size_t bytes() const {
        std::size_t total = pool_.memory_bytes() + pages_.capacity() * sizeof(pages_[0]) + free_.capacity() * 4;
        for (const auto& page : pages_)
            if (page) total += sizeof(Page);
        return total;
    }

 private:
    static constexpr std::size_t PER_PAGE = 256, TIDY_FROM = 1024;
    static constexpr std::uint16_t ABSENT = 65535;
    static constexpr std::uint32_t NO_ARRAY = ~std::uint32_t{0};

    struct Page {
        std::uint32_t starts[PER_PAGE], held = 0;
        std::uint16_t counts[PER_PAGE];

        Page() { std::fill(counts, counts + PER_PAGE, ABSENT); }
    };

    static std::size_t number(Label label) { return static_cast<std::size_t>(label) / PER_PAGE; }
    static std::size_t within(Label label) { return static_cast<std::size_t>(label) % PER_PAGE; }

    Page* page_of(Label label) const {
        return label < 0 || number(label) >= pages_.size() ? nullptr : pages_[number(label)].get();
    }

    Page& made_page(Label label) {
        if (number(label) >= pages_.size()) pages_.resize(number(label) + 1);
        if (!pages_[number(label)]) pages_[number(label)] = std::make_unique<Page>();
        return *pages_[number(label)];
    }

    std::uint32_t taken(std::size_t count) {
        if (!count) return 0;
        if (count < free_.size() && free_[count] != NO_ARRAY) {
            const std::uint32_t start = free_[count];
            free_[count] = static_cast<std::uint32_t>(pool_[start]);
            free_entries_ -= count;
            return start;
        }
        if (pool_.size() + count > NO_ARRAY) throw std::length_error("the entries of all labels are too many");
        pool_.extend(count);
        return static_cast<std::uint32_t>(pool_.size() - count);
    }

    void give_back(std::uint32_t start, std::size_t count) {
        if (!count) return;
        if (count >= free_.size()) free_.resize(count + 1, NO_ARRAY);
        pool_[start] = free_[count];
        free_[count] = start;
        free_entries_ += count;
    }

    // Cost: O(1) for each entry that was given back, amortised.
    void tidy() {
        if (free_entries_ < TIDY_FROM || free_entries_ * 5 < pool_.size()) return;
        common::GrowingArray<Entry> pool;
        pool.reserve(pool_.size() - free_entries_);
        for (const auto& page : pages_)
            for (std::size_t i = 0; page && i < PER_PAGE; ++i)
                if (const std::size_t count = page->counts[i]; count != ABSENT && count) {
                    const Entry* old = pool_.data() + page->starts[i];
                    page->starts[i] = static_cast<std::uint32_t>(pool.size());
                    std::copy(old, old + count, pool.extend(count));
                }
        pool_.swap(pool);
        std::vector<std::uint32_t>().swap(free_);
        free_entries_ = 0;
    }

    std::vector<std::unique_ptr<Page>> pages_;
    common::GrowingArray<Entry> pool_;
    std::vector<std::uint32_t> free_;  // by size
    std::size_t free_entries_ = 0, size_ = 0;
};

}  // namespace blocks
