// An array of trivially copyable elements that grows by an eighth: for large blocks, realloc moves pages and copies
// nothing, and pages ahead of use occupy no memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace common {

template <class T>
class GrowingArray {
    static_assert(std::is_trivially_copyable<T>::value, "elements are moved by realloc");

 public:
    GrowingArray() = default;
    GrowingArray(GrowingArray&& other) noexcept { swap(other); }
    GrowingArray& operator=(GrowingArray&& other) noexcept {
        GrowingArray(std::move(other)).swap(*this);
        return *this;
    }
    ~GrowingArray() { std::free(data_); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    T& operator[](std::size_t at) { return data_[at]; }
    const T& operator[](std::size_t at) const { return data_[at]; }
    std::size_t size() const { return size_; }
    std::size_t memory_bytes() const { return capacity_ * sizeof(T); }

    void push_back(const T& value) { *extend(1) = value; }

    // Adds elements, without a value, and returns the first of them. Cost: O(1) for each, amortised.
    T* extend(std::size_t count) {
        if (size_ + count > capacity_) reserve(size_ + count + size_ / 8);
        size_ += count;
        return data_ + size_ - count;
    }

    void reserve(std::size_t capacity) {
        if (capacity <= capacity_) return;
        void* moved = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
        if (!moved) throw std::bad_alloc();
        data_ = static_cast<T*>(moved);
        capacity_ = capacity;
    }

    void swap(GrowingArray& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

 private:
    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace common
