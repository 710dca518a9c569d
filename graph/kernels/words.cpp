// Occurrences of a few words in many texts: one pass over each text, whose words are looked up in a table of the asked ones.
//
// graph/retrieval/scoring/terms.py folds texts with characters beyond ASCII beforehand. The GIL stays held: the call is short.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace py = pybind11;

namespace {

using Byte = unsigned char;

// The lower case of each ASCII character of a word, 0 for one between words. Bytes of other characters belong to words.
constexpr std::array<Byte, 256> letters() {
    std::array<Byte, 256> of{};
    for (int code = 0; code < 256; ++code) {
        const bool upper = code >= 'A' && code <= 'Z', lower = code >= 'a' && code <= 'z';
        const bool other = (code >= '0' && code <= '9') || code == '_' || code >= 128;
        of[static_cast<std::size_t>(code)] = static_cast<Byte>(upper ? code + 32 : lower || other ? code : 0);
    }
    return of;
}

constexpr std::array<Byte, 256> LETTER = letters();
constexpr std::uint64_t BASIS = 14695981039346656037U, PRIME = 1099511628211U;  // FNV-1a

struct Span {
    const Byte* data;
    std::size_t size;
};

class AskedWords {
 public:
    explicit AskedWords(const py::list& words) : words_(words.size()) {
        std::size_t room = 16;
        while (room < 4 * words_.size()) room *= 2;
        slots_.assign(room, -1);
        for (std::size_t word = 0; word < words_.size(); ++word) {
            words_[word] = words[word].cast<std::string>();
            std::uint64_t hash = BASIS;
            for (const char letter : words_[word]) hash = (hash ^ static_cast<Byte>(letter)) * PRIME;
            slots_[free_slot(hash)] = static_cast<std::int32_t>(word);
        }
    }

    std::size_t size() const { return words_.size(); }

    // Marks the asked words that a text has, (words,).
    void mark(Span text, bool* held) const {
        const Byte* const end = text.data + text.size;
        for (const Byte* at = text.data; at < end; ++at) {
            const Byte* const first = at;
            std::uint64_t hash = BASIS;
            for (Byte letter; at < end && (letter = LETTER[*at]) != 0; ++at) hash = (hash ^ letter) * PRIME;
            if (at != first) mark_word({first, static_cast<std::size_t>(at - first)}, hash, held);
        }
    }

 private:
    std::size_t free_slot(std::uint64_t hash) const {
        std::size_t slot = hash & (slots_.size() - 1);
        while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }

    void mark_word(Span word, std::uint64_t hash, bool* held) const {
        for (std::size_t slot = hash & (slots_.size() - 1); slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
            const auto number = static_cast<std::size_t>(slots_[slot]);
            if (equal(word, words_[number])) held[number] = true;
        }
    }

    static bool equal(Span word, const std::string& asked) {
        if (word.size != asked.size()) return false;
        for (std::size_t at = 0; at < word.size; ++at)
            if (LETTER[word.data[at]] != static_cast<Byte>(asked[at])) return false;
        return true;
    }

    std::vector<std::string> words_;
    std::vector<std::int32_t> slots_;
};

Span span_of(const py::handle& text) {
    if (PyUnicode_Check(text.ptr()) && PyUnicode_IS_ASCII(text.ptr()))
        return {PyUnicode_1BYTE_DATA(text.ptr()), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()))};
    if (PyBytes_Check(text.ptr()))
        return {reinterpret_cast<const Byte*>(PyBytes_AS_STRING(text.ptr())), static_cast<std::size_t>(PyBytes_GET_SIZE(text.ptr()))};
    throw std::invalid_argument("a text is an ASCII string, or the bytes of a folded one");
}

py::array_t<bool> occurrences(const py::list& words, const py::list& texts) {
    const AskedWords asked(words);
    py::array_t<bool> held({texts.size(), asked.size()});
    std::memset(held.mutable_data(), 0, texts.size() * asked.size());
    bool* row = held.mutable_data();
    for (const py::handle& text : texts) {
        asked.mark(span_of(text), row);
        row += asked.size();
    }
    return held;
}

}  // namespace

PYBIND11_MODULE(_words, module) {
    module.doc() = "Compiled kernel of graphtide.graph.retrieval.scoring.terms.";
    module.def("occurrences", &occurrences, py::arg("words").noconvert(), py::arg("texts").noconvert());
}
