// Occurrences of a few words in many texts: one pass over each text; a word is compared where an asked one has its first
// letter and its length.
//
// graph/retrieval/scoring/terms.py folds texts with characters beyond ASCII beforehand. The GIL stays held: the call is short.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
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

// An ASCII character, which needs no test of its range.
struct Ascii {
    Py_UCS1 code;
};

// The letter of a folded character, 0 for one between words: what Python's `\w` takes for a part of a word.
inline Letter letter_of(Ascii character) { return ASCII[character.code]; }
inline Letter letter_of(Letter code) {
    if (code < 128) return ASCII[code];
    return Py_UNICODE_ISALNUM(code) ? code : 0;
}

class AskedWords {
 public:
    explicit AskedWords(const py::list& words) : words_(words.size()) {
        for (std::size_t word = 0; word < words_.size(); ++word) {
            words_[word] = words[word].cast<std::u32string>();
            lengths_[slot_of(words_[word][0])] |= bit_of(words_[word].size());
        }
    }

    std::size_t size() const { return words_.size(); }

    // Marks the asked words that a text has, (words,).
    void mark(const py::handle& text, bool* held) const {
        PyObject* const object = text.ptr();
        if (!PyUnicode_Check(object)) throw py::type_error("a text must be a str");
        const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(object));
        if (PyUnicode_IS_ASCII(object)) return mark(reinterpret_cast<const Ascii*>(PyUnicode_1BYTE_DATA(object)), size, held);
        switch (PyUnicode_KIND(object)) {
            case PyUnicode_1BYTE_KIND: return mark(PyUnicode_1BYTE_DATA(object), size, held);
            case PyUnicode_2BYTE_KIND: return mark(PyUnicode_2BYTE_DATA(object), size, held);
            default: return mark(PyUnicode_4BYTE_DATA(object), size, held);
        }
    }

 private:
    static std::size_t slot_of(Letter letter) { return letter & 255; }
    static std::uint64_t bit_of(std::size_t length) { return std::uint64_t{1} << std::min<std::size_t>(length, 63); }

    template <typename Character>
    void mark(const Character* text, std::size_t size, bool* held) const {
        const Character* const end = text + size;
        for (const Character* at = text; at < end; ++at) {
            const Character* const first = at;
            const Letter letter = letter_of(*at);
            if (letter == 0) continue;
            while (++at < end && letter_of(*at) != 0) {
            }
            const auto length = static_cast<std::size_t>(at - first);
            if ((lengths_[slot_of(letter)] & bit_of(length)) != 0) mark_word(first, length, held);
        }
    }

    template <typename Character>
    void mark_word(const Character* word, std::size_t length, bool* held) const {
        const auto same = [](Character character, char32_t letter) { return letter_of(character) == letter; };
        for (std::size_t number = 0; number < words_.size(); ++number) {
            const std::u32string& asked = words_[number];
            if (!held[number] && asked.size() == length && std::equal(word, word + length, asked.begin(), same)) held[number] = true;
        }
    }

    std::vector<std::u32string> words_;
    std::array<std::uint64_t, 256> lengths_{};  // of the asked words by first letter: a bit for each length
};

py::array_t<bool> occurrences(const py::list& words, const py::list& texts) {
    const AskedWords asked(words);
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
    module.def("occurrences", &occurrences, py::arg("words").noconvert(), py::arg("texts").noconvert());
}
