// Static embeddings: the tokens of a text by byte-pair encoding (Sennrich et al. 2016), and the sum of their vectors,
// scaled to unit length.
//
// The tokens are those of a SentencePiece model in the format of Hugging Face's `tokenizers` (BPE with byte fallback).
// Invariant: a vector is a function of its text alone, to the last bit: the sums of float32 values in float64 are exact for
// tables whose values are multiples of 2^-24 (infra/models/local/static_embedder.py), the sum of squares is rounded once.
// The GIL stays held: a piece of 4,096 characters takes up to half a millisecond.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

using Token = std::uint32_t;
using Floats = py::array_t<float, py::array::c_style>;

constexpr Token NO_TOKEN = 0xFFFFFFFF;
constexpr std::size_t MAX_TOKENS = 1 << 16;
constexpr char32_t DIGITS[] = U"0123456789ABCDEF";
constexpr char32_t SPACE = 0x2581;  // the character that stands for a space

// The rank of a merge among all, and the token that it makes.
struct Merge {
    std::uint32_t rank, made;
};

// The merges by the pair of tokens that they join: linear probing, at most half of the slots in use.
class Merges {
 public:
    explicit Merges(std::size_t count) : made_(count) {
        while (slots_.size() < 2 * count) slots_.resize(2 * slots_.size());
    }

    // Sets the merge of a rank; a pair that is listed again gets the later rank.
    void set(Token left, Token right, Merge merge) {
        slots_[place(left, right)] = {left << 16 | right, merge.rank};
        made_[merge.rank] = merge.made;
    }

    // The merge of a pair; its token is NO_TOKEN if there is none.
    Merge of(Token left, Token right) const {
        const Slot& slot = slots_[place(left, right)];
        return {slot.rank, slot.rank == FREE ? NO_TOKEN : made_[slot.rank]};
    }

 private:
    static constexpr std::uint32_t FREE = 0xFFFFFFFF;
    struct Slot {
        std::uint32_t pair = 0, rank = FREE;
    };

    std::size_t place(Token left, Token right) const {
        const std::uint32_t pair = left << 16 | right;
        std::size_t at = (pair * 0x9e3779b97f4a7c15ULL >> 32) & (slots_.size() - 1);
        while (slots_[at].rank != FREE && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(16);
    std::vector<Token> made_;
};

// The tokens of one text while they are merged: a list whose members refer to their neighbours by place.
class MergedText {
 public:
    explicit MergedText(const Merges& merges) : merges_(merges) {}

    void add(Token token) {
        const auto place = static_cast<std::int32_t>(parts_.size());
        parts_.push_back({token, NO_TOKEN, place - 1, -1});
        if (place > 0) parts_[static_cast<std::size_t>(place) - 1].next = place;
    }

    // Applies the merges in the order of their ranks, and of their places for one rank; appends what is left.
    void finish(std::vector<Token>& tokens) {
        for (std::size_t place = 0; place + 1 < parts_.size(); ++place) propose(static_cast<std::int32_t>(place));
        while (!proposed_.empty()) {
            std::pop_heap(proposed_.begin(), proposed_.end(), Later{});
            const Proposal proposal = proposed_.back();
            proposed_.pop_back();
            apply(proposal);
        }
        for (std::int32_t place = parts_.empty() ? -1 : 0; place >= 0; place = parts_[static_cast<std::size_t>(place)].next)
            tokens.push_back(parts_[static_cast<std::size_t>(place)].token);
        parts_.clear();
    }

 private:
    struct Part {
        Token token, made;  // made: with the next part, NO_TOKEN for none
        std::int32_t previous, next;  // -1: none
    };
    struct Proposal {
        std::uint32_t rank;
        std::int32_t place;
        Token made;
    };

    struct Later {
        bool operator()(const Proposal& one, const Proposal& other) const {
            return one.rank != other.rank ? one.rank > other.rank : one.place > other.place;
        }
    };

    Part& part(std::int32_t place) { return parts_[static_cast<std::size_t>(place)]; }

    void propose(std::int32_t place) {
        const Merge merge = merges_.of(part(place).token, part(part(place).next).token);
        part(place).made = merge.made;
        if (merge.made == NO_TOKEN) return;
        proposed_.push_back({merge.rank, place, merge.made});
        std::push_heap(proposed_.begin(), proposed_.end(), Later{});
    }

    // An earlier merge may have changed the pair: as in `tokenizers`, it counts if it still makes the same token.
    void apply(const Proposal& proposal) {
        Part& left = part(proposal.place);
        if (left.made != proposal.made) return;
        Part& right = part(left.next);
        left.token = proposal.made;
        left.next = right.next;
        left.made = right.made = NO_TOKEN;
        if (left.next >= 0) part(left.next).previous = proposal.place;
        if (left.previous >= 0) propose(left.previous);
        if (left.next >= 0) propose(proposal.place);
    }

    const Merges& merges_;
    std::vector<Part> parts_;
    std::vector<Proposal> proposed_;
};

// The sum of the values, rounded once (Shewchuk 1997, as Python's math.fsum). Not inlined, so that no product of the caller
// is fused into a sum.
[[gnu::noinline]] double exact_sum(const std::vector<double>& values) {
    std::vector<double> partials;  // not overlapping, in order of size
    for (double value : values) {
        std::size_t kept = 0;
        for (double other : partials) {
            if (std::fabs(value) < std::fabs(other)) std::swap(value, other);
            const double high = value + other, low = other - (high - value);
            if (low != 0) partials[kept++] = low;
            value = high;
        }
        partials.resize(kept);
        partials.push_back(value);
    }
    std::size_t left = partials.size();
    double high = left ? partials[--left] : 0, low = 0;
    while (left > 0 && low == 0) {
        const double value = high, other = partials[--left];
        high = value + other;
        low = other - (high - value);
    }
    // Half-way cases are rounded to even by the first two partials alone: the third decides.
    if (left > 0 && low != 0 && (low < 0) == (partials[left - 1] < 0)) {
        const double twice = low * 2, moved = high + twice;
        if (moved - high == twice) high = moved;
    }
    return high;
}

class StaticModel {
 public:
    // `vocabulary`: token by text; `merges`: (n, 3) left, right and made token, by rank; `table`: (tokens, d) vectors.
    StaticModel(const py::dict& vocabulary, const py::array_t<std::int32_t, py::array::c_style>& merges, Floats table, Token unknown)
        : merges_(static_cast<std::size_t>(merges.shape(0))), table_(std::move(table)), unknown_(unknown) {
        if (table_.ndim() != 2 || static_cast<std::size_t>(table_.shape(0)) > MAX_TOKENS)
            throw std::invalid_argument("the table must have two dimensions and at most 65,536 rows");
        bytes_.fill(unknown_);
        ascii_.fill(NO_TOKEN);
        for (const auto& [text, token] : vocabulary) note(text.cast<std::u32string>(), checked(token.cast<std::int64_t>()));
        if (merges.ndim() != 2 || merges.shape(1) != 3) throw std::invalid_argument("merges must be (n, 3)");
        const auto rows = merges.unchecked<2>();
        for (py::ssize_t rank = 0; rank < rows.shape(0); ++rank)
            merges_.set(checked(rows(rank, 0)), checked(rows(rank, 1)), {static_cast<std::uint32_t>(rank), checked(rows(rank, 2))});
        checked(unknown_);
    }

    // The tokens of a text in which no special token is written out.
    std::vector<Token> tokens(const py::str& text) const {
        std::vector<Token> found;
        MergedText merged(merges_);
        append(text, merged, found);
        return found;
    }

    // The unit vector of a text in pieces, each a str that is tokenized by itself, or the int of a token; (d,) float32.
    Floats vector(const py::iterable& pieces) const {
        std::vector<Token> found;
        MergedText merged(merges_);
        for (const py::handle& piece : pieces) {
            if (py::isinstance<py::str>(piece)) append(py::reinterpret_borrow<py::str>(piece), merged, found);
            else found.push_back(checked(piece.cast<std::int64_t>()));
        }
        std::vector<double> total(static_cast<std::size_t>(table_.shape(1)), 0.0);
        for (const Token token : found) add_row(token, total);
        if (std::all_of(total.begin(), total.end(), [](double value) { return value == 0; })) add_row(unknown_, total);
        std::vector<double> squares(total.size());
        std::transform(total.begin(), total.end(), squares.begin(), [](double value) { return value * value; });
        const double length = std::sqrt(exact_sum(squares));
        Floats unit(static_cast<py::ssize_t>(total.size()));
        std::transform(total.begin(), total.end(), unit.mutable_data(), [=](double value) { return static_cast<float>(value / length); });
        return unit;
    }

 private:
    Token checked(std::int64_t token) const {
        if (token < 0 || token >= table_.shape(0)) throw std::invalid_argument("token " + std::to_string(token) + " has no vector");
        return static_cast<Token>(token);
    }

    // Remembers the tokens of single characters and, written <0x00> to <0xFF>, of single bytes.
    void note(const std::u32string& text, Token token) {
        if (text.size() == 1 && text[0] < ascii_.size()) ascii_[text[0]] = token;
        else if (text.size() == 1) characters_[text[0]] = token;
        for (std::size_t byte = 0; text.size() == 6 && byte < bytes_.size(); ++byte)
            if (text == std::u32string{U'<', U'0', U'x', DIGITS[byte >> 4], DIGITS[byte & 15], U'>'}) bytes_[byte] = token;
    }

    void append(const py::str& text, MergedText& merged, std::vector<Token>& found) const {
        PyObject* const object = text.ptr();
        const Py_ssize_t size = PyUnicode_GET_LENGTH(object);
        if (size == 0) return;
        add_character(SPACE, merged);
        const int kind = PyUnicode_KIND(object);
        const void* const data = PyUnicode_DATA(object);
        for (Py_ssize_t at = 0; at < size; ++at) {
            const Py_UCS4 code = PyUnicode_READ(kind, data, at);
            add_character(code == U' ' ? SPACE : code, merged);
        }
        merged.finish(found);
    }

    // Adds the token of a character, or those of its bytes in UTF-8.
    void add_character(char32_t code, MergedText& merged) const {
        if (code < ascii_.size()) return merged.add(ascii_[code] == NO_TOKEN ? bytes_[code] : ascii_[code]);
        const auto known = characters_.find(code);
        if (known != characters_.end()) return merged.add(known->second);
        const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes of UTF-8 after the first
        merged.add(bytes_[(0xFF00U >> (more + 1) & 0xFFU) | code >> 6 * more]);
        for (int left = more - 1; left >= 0; --left) merged.add(bytes_[0x80 | (code >> 6 * left & 0x3F)]);
    }

    void add_row(Token token, std::vector<double>& total) const {
        const float* const row = table_.data(token, 0);
        for (std::size_t at = 0; at < total.size(); ++at) total[at] += static_cast<double>(row[at]);
    }

    std::array<Token, 128> ascii_{};
    std::unordered_map<char32_t, Token> characters_;  // beyond ASCII
    std::array<Token, 256> bytes_{};
    Merges merges_;
    Floats table_;
    Token unknown_;
};

}  // namespace

PYBIND11_MODULE(_tokens, module) {
    module.doc() = "Compiled kernel of graphtide.infra.models.local.static_embedder.";
    py::class_<StaticModel>(module, "StaticModel")
        .def(py::init<const py::dict&, const py::array_t<std::int32_t, py::array::c_style>&, Floats, Token>(), py::arg("vocabulary"),
             py::arg("merges"), py::arg("table"), py::arg("unknown"))
        .def(
            "tokens",
            [](const StaticModel& model, const py::str& text) {
                py::list found;
                for (const Token token : model.tokens(text)) found.append(token);
                return found;
            },
            py::arg("text"))
        .def("vector", &StaticModel::vector, py::arg("pieces"));
}
