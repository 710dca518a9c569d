// The weighted graphs of the hierarchy, one per level, with the sums for modularity.
//
// Level 0 holds the caller's nodes. A community of level h is a unit of level h + 1: it has the same slot, its total
// degree is the unit's degree, and the weight between two communities is the weight of the edge between the two units.
// Every number is an integer sum with an inverse, so a deletion is an insertion with the opposite sign. Slots are
// internal and reused; every step that depends on an order uses idents (level 0: the node, above: the community's id),
// so that a restored hierarchy evolves identically. The caller has released the GIL: nothing here uses Python.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace communities {

using Id = std::int64_t;
using Weight = std::int64_t;
using Wide = __int128;
using Unit = std::int32_t;

constexpr Id kNew = -1;   // journal: the unit did not exist when the update began
constexpr Id kNone = 0;   // journal: the unit was in no community
constexpr Unit kNobody = -1;
constexpr std::size_t kNotedBytes = 64 << 10;  // notes of an update that are kept for the next one

struct Entry {
    Unit unit;
    Weight weight;
};

// The neighbours of a unit in ascending order of slot, packed, because they use most of the memory. An entry has 8 bytes;
// all entries of a unit have 12 as soon as one of its weights exceeds 32 bits.
class Neighbours {
   public:
    class Iterator {
       public:
        Iterator(const char* at, std::uint32_t stride) : at_(at), stride_(stride) {}
        Entry operator*() const { return read(at_, stride_); }
        Iterator& operator++() {
            at_ += stride_;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return at_ != other.at_; }

       private:
        const char* at_;
        std::uint32_t stride_;
    };

    Neighbours() : capacity_(0), wide_(0) {}
    Neighbours(Neighbours&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0)),
          capacity_(other.capacity_),
          wide_(other.wide_) {
        other.capacity_ = 0;
    }
    Neighbours(const Neighbours&) = delete;
    Neighbours& operator=(const Neighbours&) = delete;
    Neighbours& operator=(Neighbours&&) = delete;
    ~Neighbours() { std::free(data_); }

    Iterator begin() const { return {data_, stride()}; }
    Iterator end() const { return {data_ + std::size_t{size_} * stride(), stride()}; }

    std::size_t size() const { return size_; }

    // Includes malloc's overhead per block.
    std::size_t bytes() const { return data_ == nullptr ? 0 : (std::size_t{capacity_} * stride() + 8 + 15) / 16 * 16; }

    Weight weight(Unit unit) const {
        const std::uint32_t place = find(unit);
        return holds(place, unit) ? read(at(place), stride()).weight : 0;
    }

    // Adds to the weight of a neighbour and returns the sum; a neighbour of weight 0 is removed. Cost: O(log(degree)), and
    // a memmove of the entries if a neighbour is inserted or removed.
    Weight add(Unit unit, Weight delta) {
        const std::uint32_t place = find(unit);
        if (!holds(place, unit)) {
            if (size_ == capacity_) resize(size_ + 1 + size_ / 4);
            std::memmove(at(place + 1), at(place), std::size_t{size_ - place} * stride());
            ++size_;
            write(place, {unit, 0});
        }
        const Weight weight = read(at(place), stride()).weight + delta;
        if (weight != 0) {
            write(place, {unit, weight});
            return weight;
        }
        std::memmove(at(place), at(place + 1), std::size_t{size_ - place - 1} * stride());
        --size_;
        if (size_ == 0 || size_ * 2 < capacity_) resize(size_ + size_ / 4);
        return 0;
    }

    // Appends in ascending order, after `reserve`.
    void append(Unit unit, Weight weight) { write(size_++, {unit, weight}); }
    void reserve(std::size_t capacity) { resize(capacity); }

   private:
    static Entry read(const char* at, std::uint32_t stride) {
        Entry entry;
        std::memcpy(&entry.unit, at, 4);
        if (stride == 8) {
            std::int32_t weight;
            std::memcpy(&weight, at + 4, 4);
            entry.weight = weight;
        } else {
            std::memcpy(&entry.weight, at + 4, 8);
        }
        return entry;
    }

    void write(std::uint32_t place, Entry entry) {
        if (!wide_ && entry.weight > INT32_MAX) widen();
        std::memcpy(at(place), &entry.unit, 4);
        const auto narrow = static_cast<std::int32_t>(entry.weight);
        std::memcpy(at(place) + 4, wide_ ? static_cast<const void*>(&entry.weight) : &narrow, wide_ ? 8 : 4);
    }

    void widen() {
        Neighbours wider;
        wider.wide_ = 1;
        wider.resize(capacity_);
        for (const Entry entry : *this) wider.append(entry.unit, entry.weight);
        std::free(data_);
        data_ = std::exchange(wider.data_, nullptr);
        wide_ = 1;
    }

    std::uint32_t stride() const { return wide_ ? 12 : 8; }
    char* at(std::uint32_t place) const { return data_ + std::size_t{place} * stride(); }
    bool holds(std::uint32_t place, Unit unit) const { return place < size_ && read(at(place), stride()).unit == unit; }

    std::uint32_t find(Unit unit) const {
        std::uint32_t low = 0, high = size_;
        while (low < high) {
            const std::uint32_t middle = (low + high) / 2;
            if (read(at(middle), stride()).unit < unit) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    void resize(std::size_t capacity) {
        if (capacity == 0) {
            std::free(data_);
            data_ = nullptr;
        } else {
            void* moved = std::realloc(data_, capacity * stride());
            if (moved == nullptr) throw std::bad_alloc();
            data_ = static_cast<char*>(moved);
        }
        capacity_ = static_cast<std::uint32_t>(capacity);
    }

    char* data_ = nullptr;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ : 31, wide_ : 1;
};

// The units of one level by slot. The children of a community are a doubly linked list in their own level.
struct Level {
    std::vector<Neighbours> adjacency;
    std::vector<Weight> degree;
    std::vector<Unit> size;  // level-0 nodes below the unit
    std::vector<Unit> community, next, previous;
    std::vector<Unit> mark;  // place in `touches` + 1
    std::vector<Unit> first;  // above level 0: a member on the level below
    std::vector<Id> ident;    // above level 0: 0 means the slot is not in use
    std::vector<Unit> free;
    std::int64_t live = 0;
    Weight inside = 0;
    Wide squares = 0;

    void extend(std::size_t count, bool bottom) {
        if (count <= degree.size()) return;
        if (count > degree.capacity()) reserve(std::max(count, degree.size() + degree.size() / 4), bottom);
        adjacency.resize(count);
        degree.resize(count, 0);
        size.resize(count, 0);
        community.resize(count, kNobody);
        next.resize(count, kNobody);
        previous.resize(count, kNobody);
        mark.resize(count, 0);
        if (bottom) return;
        first.resize(count, kNobody);
        ident.resize(count, 0);
    }

    void reserve(std::size_t count, bool bottom) {
        adjacency.reserve(count);
        degree.reserve(count);
        for (auto* column : {&size, &community, &next, &previous, &mark}) column->reserve(count);
        if (bottom) return;
        first.reserve(count);
        ident.reserve(count);
    }

    std::size_t bytes() const {
        std::size_t total = adjacency.capacity() * sizeof(Neighbours) + (degree.capacity() + ident.capacity()) * 8;
        for (const auto* column : {&size, &community, &next, &previous, &mark, &first, &free}) total += column->capacity() * 4;
        for (const auto& neighbours : adjacency) total += neighbours.bytes();
        return total;
    }
};

// The change of a unit since its last examination: its degree then, and the weight of its changed edges.
struct Touch {
    Unit unit;
    bool queued;
    Weight degree, weight;
};

struct Slot {
    std::int32_t level;
    Unit unit;
};

// Work counters: the examined units, and their links.
struct Work {
    std::int64_t units = 0, links = 0;
};

class Levels {
   public:
    Work work;

    int top() const { return static_cast<int>(levels.size()) - 1; }

    void visit(int l, Unit unit) {
        ++work.units;
        work.links += static_cast<std::int64_t>(levels[l]->adjacency[unit].size());
    }

    void push_level() {
        levels.push_back(std::make_unique<Level>());
        if (touches.size() < levels.size()) touches.emplace_back();
        if (loosened.size() < levels.size()) loosened.emplace_back();
        if (journal.size() < levels.size()) journal.emplace_back();
    }

    void begin() {
        for (int l = 0; l <= top(); ++l) clear_touches(l);
        touches.assign(levels.size(), {});
        loosened.assign(levels.size(), {});
        journal.assign(levels.size(), {});
    }

    // Frees what a large update noted, which is read no more. What a small one noted is cleared by the next `begin`.
    void forget() {
        if (noted_bytes() <= kNotedBytes) return;
        for (int l = 0; l <= top(); ++l) clear_touches(l);
        touches = std::vector<std::vector<Touch>>(levels.size());
        loosened = std::vector<std::unordered_map<Unit, std::vector<Unit>>>(levels.size());
        journal = std::vector<std::unordered_map<Id, Id>>(levels.size());
    }

    // The notes of the last update, with a map's nodes, their pointers and allocator overhead.
    std::size_t noted_bytes() const {
        std::size_t total_bytes = 0;
        for (const auto& noted : touches) total_bytes += noted.capacity() * sizeof(Touch);
        for (const auto& noted : loosened) total_bytes += noted.bucket_count() * 8 + noted.size() * 64;
        for (const auto& noted : journal) total_bytes += noted.bucket_count() * 8 + noted.size() * 40;
        return total_bytes;
    }

    void clear_touches(int l) {
        for (const Touch& touch : touches[l])
            if (touch.unit != kNobody) levels[l]->mark[touch.unit] = 0;
        touches[l].clear();
    }

    Touch& touch(int l, Unit unit, Weight weight) {
        Level& level = *levels[l];
        if (level.mark[unit] == 0) {
            touches[l].push_back({unit, false, level.degree[unit], 0});
            level.mark[unit] = static_cast<Unit>(touches[l].size());
        }
        Touch& touch = touches[l][level.mark[unit] - 1];
        touch.weight += weight;
        return touch;
    }

    void untouch(int l, Unit unit) {
        Level& level = *levels[l];
        if (level.mark[unit] == 0) return;
        touches[l][level.mark[unit] - 1].unit = kNobody;
        level.mark[unit] = 0;
    }

    // A unit is due when 1/16 of its degree changed, in one update or since its last examination. The number of changes
    // between two scans of a unit therefore grows with its degree, and the cost per document stays constant while hubs and
    // coarse communities grow. The rule needs no state except the degree.
    bool due(int l, const Touch& touch) const {
        const Weight degree = levels[l]->degree[touch.unit];
        if (static_cast<Wide>(touch.weight) * 16 >= degree) return true;
        const int length = 64 - __builtin_clzll(static_cast<unsigned long long>(std::max(touch.degree, degree) | 1));
        const int step = std::max(0, length - 5);
        return (touch.degree >> step) != (degree >> step);
    }

    // Returns true if the degree passed a multiple of a quarter of its power of two.
    bool regrown(int l, const Touch& touch) const {
        const Weight degree = levels[l]->degree[touch.unit];
        const int length = 64 - __builtin_clzll(static_cast<unsigned long long>(std::max(touch.degree, degree) | 1));
        const int step = std::max(0, length - 3);
        return (touch.degree >> step) != (degree >> step);
    }

    Id key(int l, Unit unit) const { return l == 0 ? unit : levels[l]->ident[unit]; }

    Id parent_id(int l, Unit unit) const {
        const Unit above = levels[l]->community[unit];
        return above >= 0 ? levels[l + 1]->ident[above] : kNone;
    }

    // Records the unit's community at the start of the update; only the first call for a unit has an effect.
    void record(int l, Unit unit) { journal[l].try_emplace(key(l, unit), parent_id(l, unit)); }

    void add_degree(int l, Unit unit, Weight delta) {
        touch(l, unit, std::abs(delta));
        Level& level = *levels[l];
        const Weight old = level.degree[unit];
        level.degree[unit] = old + delta;
        level.squares += static_cast<Wide>(delta) * (2 * static_cast<Wide>(old) + delta);
    }

    void add_edge(int l, Unit a, Unit b, Weight delta) {
        Level& level = *levels[l];
        level.adjacency[b].add(a, delta);
        if (level.adjacency[a].add(b, delta) != 0) return;
        if (level.community[a] >= 0 && level.community[a] == level.community[b]) {
            auto& units = loosened[l][level.community[a]];
            units.push_back(a);
            units.push_back(b);
        }
    }

    void join(int l, Unit unit, Unit community) {
        Level& level = *levels[l];
        Level& above = *levels[l + 1];
        const Unit head = above.first[community];
        level.community[unit] = community;
        level.next[unit] = head;
        level.previous[unit] = kNobody;
        if (head >= 0) level.previous[head] = unit;
        above.first[community] = unit;
    }

    void part(int l, Unit unit) {
        Level& level = *levels[l];
        const Unit next = level.next[unit], previous = level.previous[unit];
        if (next >= 0) level.previous[next] = previous;
        if (previous >= 0) {
            level.next[previous] = next;
        } else {
            levels[l + 1]->first[level.community[unit]] = next;
        }
        level.community[unit] = level.next[unit] = level.previous[unit] = kNobody;
    }

    Unit open_community(int l, Unit parent) {
        Level& level = *levels[l + 1];
        if (level.free.empty()) {
            level.extend(level.degree.size() + 1, false);
            level.free.push_back(static_cast<Unit>(level.degree.size() - 1));
        }
        const Unit slot = level.free.back();
        level.free.pop_back();
        level.ident[slot] = next_id;
        slots[next_id] = {l + 1, slot};
        journal[l + 1][next_id] = kNew;
        ++next_id;
        ++level.live;
        if (parent >= 0) join(l + 1, slot, parent);
        return slot;
    }

    Unit open_chain(int l, int highest, Unit parent) {
        for (int s = highest; s >= l; --s) parent = open_community(s, parent);
        return parent;
    }

    // Writes the slots of a community of partition l and of its ancestors.
    void chain(int l, Unit community, std::vector<Unit>& out) const {
        out.assign(1, community);
        for (int s = l + 1; s < top(); ++s) out.push_back(levels[s]->community[out.back()]);
    }

    // Removes a community without members, then its ancestors that become empty.
    void close_if_empty(int l, Unit community) {
        while (levels[l + 1]->first[community] < 0) {
            Level& level = *levels[l + 1];
            record(l + 1, community);
            const Unit parent = level.community[community];
            untouch(l + 1, community);
            loosened[l].erase(community);
            slots.erase(level.ident[community]);
            if (parent >= 0) part(l + 1, community);
            level.ident[community] = 0;
            level.free.push_back(community);
            --level.live;
            if (parent < 0) return;
            ++l;
            community = parent;
        }
    }

    std::vector<std::unique_ptr<Level>> levels;
    bool tracked_top = true;
    Id next_id = 1;
    Weight total = 0;
    std::unordered_map<Id, Slot> slots;
    std::vector<std::vector<Touch>> touches;
    std::vector<std::unordered_map<Unit, std::vector<Unit>>> loosened;
    std::vector<std::unordered_map<Id, Id>> journal;
};

}  // namespace communities
