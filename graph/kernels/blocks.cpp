// Python binding of the blocking index: it hashes keys and converts results. The GIL stays held: each call is short.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "blocks/index.hpp"
#include "blocks/siphash.hpp"

namespace py = pybind11;

namespace {

using blocks::Entries;
using blocks::Entry;
using blocks::Key;
using blocks::Label;

Entry entry_of(const py::handle& text, const py::handle& role, Entry kind) {
    const std::string bytes = py::reinterpret_steal<py::bytes>(
        PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
    const auto bits = role.cast<std::uint64_t>();
    if (bits < 1 || bits > blocks::ROLES) throw std::invalid_argument("a role is 1, 2 or 3");
    return (blocks::siphash(bytes.data(), bytes.size()) & ~std::uint64_t{7}) | kind | bits;
}

// Two texts with one hash become one entry with the roles of both.
void add(Entries& entries, Entry entry) {
    for (Entry& known : entries)
        if (blocks::key_of(known) == blocks::key_of(entry)) {
            known |= blocks::role_of(entry);
            return;
        }
    entries.push_back(entry);
}

class Kernel {
 public:
    explicit Kernel(std::size_t most) : index_(most) {}

    std::vector<Key> put(Label label, const py::object& words, const py::dict& vector) {
        if (label < 0 || label > blocks::MAX_LABEL)
            throw std::invalid_argument("label " + std::to_string(label) + " is not a number from 0 to 2^29 - 1");
        Entries entries;
        if (words.is_none()) {
            for (const Entry entry : index_.entries(label))
                if (!blocks::is_of_vector(entry)) entries.push_back(entry);
        } else {
            for (const auto& [text, role] : words.cast<py::dict>()) add(entries, entry_of(text, role, 0));
        }
        for (const auto& [text, role] : vector) add(entries, entry_of(text, role, blocks::OF_VECTOR));
        if (entries.size() > blocks::MOST_ENTRIES) throw std::invalid_argument("a label has more than 65534 keys");
        return index_.put(label, entries);
    }

    std::vector<Key> remove(Label label) { return index_.remove(label); }
    std::vector<Label> candidates(Label label) { return index_.candidates(label); }
    bool are_candidates(Label a, Label b) { return index_.are_candidates(a, b); }
    std::vector<Label> members(Key key) { return index_.members(key); }
    std::vector<blocks::Pair> pairs(Key key) { return index_.pairs(key); }
    std::size_t size() const { return index_.size(); }
    std::size_t bytes() const { return index_.bytes(); }

 private:
    blocks::Index index_;
};

}  // namespace

PYBIND11_MODULE(_blocks, module) {
    module.doc() = "Compiled kernel of graphtide.graph.resolution.blocking.";
    py::register_local_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const std::out_of_range& error) {
            PyErr_SetString(PyExc_KeyError, error.what());
        }
    });
    py::class_<Kernel>(module, "Kernel")
        .def(py::init<std::size_t>(), py::arg("max_block"))
        .def("put", &Kernel::put, py::arg("label"), py::arg("words"), py::arg("vector"))
        .def("remove", &Kernel::remove, py::arg("label"))
        .def("candidates", &Kernel::candidates, py::arg("label"))
        .def("are_candidates", &Kernel::are_candidates, py::arg("a"), py::arg("b"))
        .def("members", &Kernel::members, py::arg("key"))
        .def("pairs", &Kernel::pairs, py::arg("key"))
        .def("memory_bytes", &Kernel::bytes)
        .def("__len__", &Kernel::size);
}
