// Hash tables of small records by a 32-bit number, without an allocation for each record.
//
// A record is a trivial struct that begins with its `key`. Up to FEW records fill an array without a gap, so that a few
// take no more than their bytes. Above, one to two fifths of the slots are free, and a change costs O(1) amortised.
// Invariant: no free slot lies between the home of a record and its place, in cyclic order.
//
// Records in the order of their slots are in the order of their homes in a table of any other size. One that grows by
// them would have all of them in a few of its slots, and a change of it would cost as much as it has records. So who
// lists records for others takes a `Walk`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>

namespace packed {

using Number = std::uint32_t;

constexpr Number FREE = ~Number{0};  // the key of a free slot; no record has it
constexpr Number FEW = 8;
constexpr Number MOST = Number{1} << 31;  // the greatest number of records

// The slots that `count` records get when they move.
inline Number capacity_of(Number count) { return count <= FEW ? count : static_cast<Number>(count * std::uint64_t{25} / 16); }

// Whether `count` records may be in so many slots: at most four fifths, or all of a few.
inline bool fits(Number count, Number capacity) {
    return count <= capacity && (count <= FEW || count <= capacity - capacity / 5);
}

// Numbers in use are mostly consecutive: the multiplication spreads them evenly.
inline Number home(Number key, Number capacity) {
    Number mixed = (key ^ key >> 16) * Number{0x9E3779B1};
    return static_cast<Number>(std::uint64_t{mixed} * capacity >> 32);
}

inline Number next(Number slot, Number capacity) { return slot + 1 == capacity ? 0 : slot + 1; }

// The slot of a key, or the capacity if it has none. O(1).
template <class Record>
Number find(const Record* slots, Number capacity, Number key) {
    if (!capacity) return capacity;
    Number slot = home(key, capacity);
    for (Number seen = 0; seen < capacity && slots[slot].key != FREE; ++seen) {
        if (slots[slot].key == key) return slot;
        slot = next(slot, capacity);
    }
    return capacity;
}

// Put a record whose key has no slot; there must be a free one. O(1).
template <class Record>
void place(Record* slots, Number capacity, const Record& record) {
    Number slot = home(record.key, capacity);
    while (slots[slot].key != FREE) slot = next(slot, capacity);
    slots[slot] = record;
}

template <class Record>
void free_all(Record* slots, Number capacity) {
    for (Number slot = 0; slot < capacity; ++slot) slots[slot].key = FREE;
}

// Move the records to other slots, all of them free; `but` is the slot of one to leave out, or the capacity.
template <class Record>
void move_all(const Record* slots, Number capacity, Number but, Record* to, Number wider) {
    free_all(to, wider);
    for (Number slot = 0; slot < capacity; ++slot)
        if (slot != but && slots[slot].key != FREE) place(to, wider, slots[slot]);
}

// Free a slot, and move the records after it whose way from their home leads past it. At least one slot must be free.
template <class Record>
void vacate(Record* slots, Number capacity, Number gap) {
    for (Number slot = next(gap, capacity); slots[slot].key != FREE; slot = next(slot, capacity)) {
        const Number from = home(slots[slot].key, capacity);
        const bool stays = gap < slot ? gap < from && from <= slot : gap < from || from <= slot;
        if (stays) continue;
        slots[gap] = slots[slot];
        gap = slot;
    }
    slots[gap].key = FREE;
}

// Whether `left` records must move to fewer slots when one is removed.
inline bool sparse(Number left, Number capacity) { return left <= FEW || left < capacity / 10 * 3; }

// The places of all slots, each once: those next to each other in it are far from each other in the table. O(1) a place.
class Walk {
  public:
    explicit Walk(Number capacity) : capacity_(capacity), left_(capacity) {
        if (capacity <= FEW) return;
        step_ = static_cast<Number>(capacity * std::uint64_t{0x9E3779B1} >> 32);
        while (std::gcd(step_, capacity) != 1) ++step_;
    }

    Number capacity() const { return capacity_; }
    bool ended() const { return !left_; }

    // The next place; the walk must not have ended.
    Number next() {
        const Number found = at_;
        at_ = at_ < capacity_ - step_ ? at_ + step_ : at_ - (capacity_ - step_);
        --left_;
        return found;
    }

  private:
    Number capacity_, left_;
    Number step_ = 1;
    Number at_ = 0;
};

}  // namespace packed
