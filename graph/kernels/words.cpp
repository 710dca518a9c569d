// Occurrences of a few words in many texts: one pass over each text; a word is compared where an asked one has its first
// letter and its length. The bounds of words are found for a block of characters at a time.
//
// Characters are folded one by one, by the table of graph/retrieval/scoring/terms.py; a text with a character that it does not
// have is folded as a whole by Python beforehand. The GIL stays held: the call is short.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

using Letter = Py_UCS4;

// The lower case of each ASCII character of a word, 0 for one between words.
constexpr std::array<Py_UCS1, 128> ascii_letters() {
    std::array<Py_UCS1, 128> of{};
    for (int code = 0; code < 128; ++code) {
        const bool upper = code >= 'A' && code <= 'Z', lower = code >= 'a' && code <= 'z';
        const bool other = (code >= '0' && code <= '9') || code == '_';
        of[static_cast<std::size_t>(code)] = static_cast<Py_UCS1>(upper ? code + 32 : lower || other ? code : 0);
    }
    return of;
}

constexpr std::array<Py_UCS1, 128> ASCII = ascii_letters();

constexpr std::size_t BLOCK = 64;

// An ASCII character, which needs no test of its range.
struct Ascii {
    Py_UCS1 code;
};

// The letter of a character: folded, 0 for one between words (what Python's `\w` takes for no part of a word).
class Folding {
 public:
    static constexpr std::uint16_t unknown = 0xFFFF;

    explicit Folding(const py::array_t<std::uint16_t, py::array::c_style>& table)
        : letters_(table.data()), size_(static_cast<std::size_t>(table.size())) {}

    Letter operator()(Ascii character) const { return ASCII[character.code]; }
    Letter operator()(Letter code) const {
        if (code < 128) return ASCII[code];
        if (has(code)) return letters_[code];
        return Py_UNICODE_ISALNUM(code) ? code : 0;  // of a text that was folded
    }

    template <typename Character>
    bool has_all(const Character* text, std::size_t size) const {
        for (std::size_t block = 0; block < size; block += BLOCK) {
            const Character* const first = text + block;
            const Character* const end = first + std::min(BLOCK, size - block);
            if (beyond_ascii(first, end) && !std::all_of(first, end, [this](Character code) { return code < 128 || has(code); }))
                return false;
        }
        return true;
    }

    // The loop compiles to vector instructions.
    template <typename Character>
    static bool beyond_ascii(const Character* first, const Character* end) {
        Character all = 0;
        for (; first != end; ++first) all |= *first;
        return all >= 128;
    }

 private:
    bool has(Letter code) const { return code < size_ && letters_[code] != unknown; }

    const std::uint16_t* letters_;
    std::size_t size_;
};

// A bit for each character of a block, set in words. The loops over ASCII compile to vector instructions.
template <typename Character>
std::uint64_t word_bits(const Character* text, std::size_t size, const Folding& folding) {
    constexpr bool ascii = std::is_same_v<Character, Ascii>;
    std::array<Py_UCS1, BLOCK> in_word{};
    if constexpr (ascii) std::memcpy(in_word.data(), text, size);
    else
        for (std::size_t at = 0; at < size; ++at) in_word[at] = static_cast<Py_UCS1>(text[at] < 128 ? text[at] : 128);
    for (Py_UCS1& code : in_word) {
        const auto letter = static_cast<Py_UCS1>((code | 32) - 'a'), digit = static_cast<Py_UCS1>(code - '0');
        code = static_cast<Py_UCS1>((letter < 26) | (digit < 10) | (code == '_'));
    }
    if constexpr (!ascii)
        if (Folding::beyond_ascii(text, text + size))
            for (std::size_t at = 0; at < size; ++at)
                if (text[at] >= 128) in_word[at] = folding(text[at]) != 0;
    std::uint64_t bits = 0;
    for (std::size_t at = 0; at < BLOCK; at += 8) {
        std::uint64_t eight = 0;  // compiles to one load
        for (std::size_t byte = 0; byte < 8; ++byte) eight |= std::uint64_t{in_word[at + byte]} << (8 * byte);
        bits |= (eight * 0x0102040810204080U >> 56) << at;  // the product has byte n, 0 or 1, in bit 56 + n
    }
    return bits;
}

// Calls the visitor with the characters of a string, whatever their width, and their number.
template <typename Visitor>
auto visit(const py::handle& text, const Visitor& visitor) {
    PyObject* const object = text.ptr();
    const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(object));
    switch (PyUnicode_KIND(object)) {
        case PyUnicode_1BYTE_KIND: return visitor(PyUnicode_1BYTE_DATA(object), size);
        case PyUnicode_2BYTE_KIND: return visitor(PyUnicode_2BYTE_DATA(object), size);
        default: return visitor(PyUnicode_4BYTE_DATA(object), size);
    }
}

class AskedWords {
 public:
    AskedWords(const py::list& words, Folding folding, py::function fold)
        : folding_(folding), fold_(std::move(fold)), words_(words.size()) {
        for (std::size_t word = 0; word < words_.size(); ++word) {
            words_[word] = words[word].cast<std::u32string>();
            const std::size_t slot = slot_of(words_[word][0]);
            lengths_[slot] |= bit_of(words_[word].size());
            numbers_[slot].push_back(word);
        }
    }

    std::size_t size() const { return words_.size(); }

    // Marks the asked words that a text has, (words,).
    void mark(const py::handle& text, bool* held) const {
        if (!PyUnicode_Check(text.ptr())) throw py::type_error("a text must be a str");
        if (PyUnicode_IS_ASCII(text.ptr()) || visit(text, [this](auto* at, std::size_t size) { return folding_.has_all(at, size); }))
            return mark_folded(text, held);
        const py::object folded = fold_(text);
        if (!PyUnicode_Check(folded.ptr())) throw py::type_error("a folded text must be a str");
        mark_folded(folded, held);
    }

 private:
    static constexpr std::size_t SLOTS = 256;
    static std::size_t slot_of(Letter letter) { return letter % SLOTS; }
    static std::uint64_t bit_of(std::size_t length) { return std::uint64_t{1} << std::min<std::size_t>(length, 63); }

    void mark_folded(const py::handle& text, bool* held) const {
        if (PyUnicode_IS_ASCII(text.ptr())) {
            const auto* first = reinterpret_cast<const Ascii*>(PyUnicode_1BYTE_DATA(text.ptr()));
            return mark(first, static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr())), held);
        }
        visit(text, [this, held](auto* at, std::size_t size) { mark(at, size, held); });
    }

    template <typename Character>
    void mark(const Character* text, std::size_t size, bool* held) const {
        std::size_t first = 0;
        std::uint64_t inside = 0;  // 1 where the character before is in a word, which began at `first`
        for (std::size_t block = 0; block <= size; block += BLOCK) {
            const std::uint64_t bits = word_bits(text + block, std::min(BLOCK, size - block), folding_);
            for (std::uint64_t bounds = bits ^ (bits << 1 | inside); bounds != 0; bounds &= bounds - 1) {
                const std::size_t at = block + static_cast<std::size_t>(__builtin_ctzll(bounds));
                if (inside == 0) first = at;
                else find(text + first, at - first, held);
                inside ^= 1;
            }
        }
    }

    template <typename Character>
    void find(const Character* word, std::size_t length, bool* held) const {
        const std::size_t slot = slot_of(folding_(*word));
        if ((lengths_[slot] & bit_of(length)) == 0) return;
        const auto same = [this](Character character, char32_t letter) { return folding_(character) == letter; };
        for (const std::size_t number : numbers_[slot]) {
            const std::u32string& asked = words_[number];
            if (!held[number] && asked.size() == length && std::equal(word, word + length, asked.begin(), same)) held[number] = true;
        }
    }

    Folding folding_;
    py::function fold_;
    std::vector<std::u32string> words_;
    // By the slot of the first letter: a bit for each length of an asked word, and the words.
    std::array<std::uint64_t, SLOTS> lengths_{};
    std::array<std::vector<std::size_t>, SLOTS> numbers_;
};

using Table = py::array_t<std::uint16_t, py::array::c_style>;

py::array_t<bool> occurrences(const py::list& words, const py::list& texts, const Table& letters, const py::function& fold) {
    const AskedWords asked(words, Folding(letters), fold);
    py::array_t<bool> held({texts.size(), asked.size()});
    std::memset(held.mutable_data(), 0, texts.size() * asked.size());
    bool* row = held.mutable_data();
    for (const py::handle& text : texts) {
        asked.mark(text, row);
        row += asked.size();
    }
    return held;
}

}  // namespace

PYBIND11_MODULE(_words, module) {
    module.doc() = "Compiled kernel of graphtide.graph.retrieval.scoring.terms.";
    module.def("occurrences", &occurrences, py::arg("words").noconvert(), py::arg("texts").noconvert(),
               py::arg("letters").noconvert(), py::arg("fold"));
}
