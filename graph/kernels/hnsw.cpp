// The HNSW graph of a vector index (hnswlib, see hnsw/hnswalg.hpp), and the table of its exact stage, over vectors that
// they hold by reference (hnsw/rows.hpp). The graph compares codes of 4 or 8 bits (hnsw/codes.hpp); what a search returns
// is then compared by the vectors themselves. Labels of the graph are 0, 1, 2, ... in the order of insertion. The owner
// excludes changes beside anything else.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hnsw/codes.hpp"
#include "hnsw/hnswalg.hpp"
#include "hnsw/row_table.hpp"
#include "hnsw/rows.hpp"
#include "vectors/contents.hpp"

namespace py = pybind11;

namespace {

using hnswlib::Codes;
using hnswlib::Form;
using hnswlib::Row;
using hnswlib::Slot;
using hnswlib::half_type;
using hnswlib::slot_at;
using Query = py::array_t<float, py::array::c_style>;

constexpr std::uint64_t kMagic = 0x31574e4854475048ull;

class SlotSpace : public hnswlib::SpaceInterface<float> {
 public:
    explicit SlotSpace(std::size_t size) : size_(size) {}
    size_t get_data_size() override { return 0; }
    hnswlib::DISTFUNC<float> get_dist_func() override { return hnswlib::slot_distance; }
    void *get_dist_func_param() override { return &size_; }

 private:
    std::size_t size_;
};

class Kernel {
 public:
    Kernel(std::size_t dimensions, std::size_t capacity, std::size_t links, std::size_t build_width, std::size_t seed)
        : dimensions_(dimensions), space_(std::make_unique<SlotSpace>(dimensions)), codes_(dimensions),
          graph_(std::make_unique<Graph>(space_.get(), capacity, links, build_width, seed)) {}

    void add(const py::list &rows) {
        if (rows.size() + size() > capacity()) throw std::length_error("the graph is full: resize it first");
        std::vector<Slot> stored;
        std::vector<py::object> held;
        for (const py::handle &row : rows) {
            const Row array = hnswlib::checked_row(row, dimensions_);
            stored.push_back(hnswlib::slot_of(array, dimensions_));
            held.push_back(hnswlib::owner_of(array));
        }
        const std::size_t first = size();
        if (first + held.size() > rows_.capacity()) rows_.reserve(first + held.size() + first / 8);
        rows_.insert(rows_.end(), held.begin(), held.end());
        py::gil_scoped_release unlocked;
        Codes::Wide wide;
        for (std::size_t i = 0; i < stored.size(); ++i) {
            const auto [code, sought] = codes_.add(stored[i], wide);
            graph_->addPoint(code, &sought, first + i);
        }
    }

    // Returns up to k live labels, nearest first, with their distances.
    py::tuple search(const Query &query, std::size_t k) const {
        if (query.ndim() != 1 || static_cast<std::size_t>(query.shape(0)) != dimensions_)
            throw std::invalid_argument("the query has another number of dimensions");
        const Slot sought{query.data()};
        std::vector<std::pair<float, std::size_t>> found;
        {
            py::gil_scoped_release unlocked;
            Codes::Wide code;
            const Slot coded = codes_.coded(sought, code);
            auto queue = graph_->searchKnn(&coded, k + k / 4 + kSpare);
            for (; !queue.empty(); queue.pop()) found.push_back(queue.top());
        }
        std::vector<const void *> rows;
        for (const auto &[distance, label] : found) rows.push_back(hnswlib::data_of(rows_[label]));
        {
            py::gil_scoped_release unlocked;  // a row may have to be read from a file
            for (std::size_t i = 0; i < found.size(); ++i) {
                const Slot exact = slot_at(rows[i], graph_->slots_[found[i].second].row, dimensions_);
                found[i].first = hnswlib::slot_distance(&sought, &exact, &dimensions_);
            }
            std::sort(found.begin(), found.end());
            found.resize(std::min(k, found.size()));
        }
        py::array_t<std::int64_t> labels(found.size());
        py::array_t<float> distances(found.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            labels.mutable_data()[i] = static_cast<std::int64_t>(found[i].second);
            distances.mutable_data()[i] = found[i].first;
        }
        return py::make_tuple(labels, distances);
    }

    // Returns the row of a label, see row_of.
    Row row(std::size_t label) const {
        return hnswlib::row_of(rows_.at(label), graph_->slots_[label].row, dimensions_);
    }
    void mark_deleted(std::size_t label) { graph_->markDelete(label); }
    void resize(std::size_t capacity) { graph_->resizeIndex(capacity); }
    std::size_t size() const { return graph_->cur_element_count; }
    std::size_t capacity() const { return graph_->max_elements_; }
    std::size_t width() const { return graph_->ef_; }
    void set_width(std::size_t width) { graph_->setEf(width); }

    // The links, the slots, the codes and the references; a vector is its holder's.
    std::size_t memory_bytes() const {
        const std::size_t each = sizeof(Slot) + sizeof(hnswlib::vl_type);
        return graph_->links_.memory_bytes() + each * size() + rows_.capacity() * sizeof(py::object) + codes_.bytes();
    }

    std::size_t file_bytes() const {
        std::size_t bytes = 3 * sizeof(std::uint64_t) + graph_->indexFileSize();
        for (std::size_t i = 0; i < size(); ++i) bytes += 1 + row_bytes(graph_->slots_[i].row);
        return bytes;
    }

    void save(const std::string &path) const {
        std::vector<const void *> rows;
        for (const py::object &held : rows_) rows.push_back(hnswlib::data_of(held));
        py::gil_scoped_release unlocked;
        std::ofstream out(path, std::ios::binary);
        const std::uint64_t head[] = {kMagic, dimensions_, size()};
        out.write(reinterpret_cast<const char *>(head), sizeof head);
        for (std::size_t i = 0; i < size(); ++i) {
            const Form form = graph_->slots_[i].row;
            out.put(form == Form::Half ? 1 : 0);
            out.write(static_cast<const char *>(rows[i]), static_cast<std::streamsize>(row_bytes(form)));
        }
        graph_->saveIndex(out);
    }

    static std::unique_ptr<Kernel> load(const std::string &path, std::size_t dimensions, std::size_t capacity) {
        std::ifstream in(path, std::ios::binary);
        std::uint64_t head[3] = {0, 0, 0};
        in.read(reinterpret_cast<char *>(head), sizeof head);
        if (!in || head[0] != kMagic || head[1] != dimensions) throw std::runtime_error("not a graph of these dimensions");
        auto kernel = std::unique_ptr<Kernel>(new Kernel(dimensions));
        std::vector<Form> forms;
        for (std::uint64_t i = 0; i < head[2]; ++i) {
            const Form form = in.get() == 1 ? Form::Half : Form::Wide;
            const std::size_t bytes = kernel->row_bytes(form);
            py::bytes row(nullptr, bytes);
            in.read(PyBytes_AS_STRING(row.ptr()), static_cast<std::streamsize>(bytes));
            if (!in) throw std::runtime_error("the vectors end early");
            kernel->rows_.push_back(vectors::stored(row));
            forms.push_back(form);
        }
        kernel->graph_->loadIndex(in, kernel->space_.get(), head[2], std::max<std::size_t>(capacity, head[2]));
        for (std::size_t i = 0; i < kernel->size(); ++i) {
            Slot &slot = kernel->graph_->slots_[i];
            const std::uint16_t deleted = slot.deleted;
            slot = kernel->codes_.add(slot_at(hnswlib::data_of(kernel->rows_[i]), forms[i], dimensions));
            slot.deleted = deleted;
        }
        return kernel;
    }

 private:
    using Graph = hnswlib::HierarchicalNSW<float>;

    explicit Kernel(std::size_t dimensions)
        : dimensions_(dimensions), space_(std::make_unique<SlotSpace>(dimensions)), codes_(dimensions),
          graph_(std::make_unique<Graph>()) {}

    // Rows beyond those wanted that are compared by their vectors: a code may misplace them.
    static constexpr std::size_t kSpare = 8;

    std::size_t row_bytes(Form form) const { return dimensions_ * hnswlib::bytes_of(form); }

    std::size_t dimensions_;
    std::unique_ptr<SlotSpace> space_;
    Codes codes_;
    std::vector<py::object> rows_;
    std::unique_ptr<Graph> graph_;
};

// 1 minus the cosine of two rows, by the instructions of this machine or without them.
float row_distance(const Row &a, const Row &b, bool plain) {
    const auto size = static_cast<std::size_t>(a.shape(0));
    const Slot one = hnswlib::slot_of(a, size), other = hnswlib::slot_of(b, size);
    return plain ? hnswlib::plain_distance(one, other, size) : hnswlib::slot_distance(&one, &other, &size);
}

// The same by codes: that of `a` as it is searched for, and as it is stored, with that of `b` as it is stored.
std::pair<float, float> code_distances(const Row &a, const Row &b, bool plain) {
    const auto size = static_cast<std::size_t>(a.shape(0));
    Codes codes(size);
    Codes::Wide wide;
    const Slot one = hnswlib::slot_of(a, size), other = codes.add(hnswlib::slot_of(b, size));
    const Slot sought = codes.coded(one, wide), stored = codes.add(one);
    if (plain) return {hnswlib::plain_distance(sought, other, size), hnswlib::plain_distance(stored, other, size)};
    return {hnswlib::slot_distance(&sought, &other, &size), hnswlib::slot_distance(&stored, &other, &size)};
}

}  // namespace

PYBIND11_MODULE(_hnsw, m) {
    vectors::module();  // an error of its import is one of this import
    m.def("distance", &row_distance, py::arg("a"), py::arg("b"), py::arg("plain"));
    m.def("code_distances", &code_distances, py::arg("a"), py::arg("b"), py::arg("plain"));
    py::class_<Kernel>(m, "Kernel")
        .def(py::init<std::size_t, std::size_t, std::size_t, std::size_t, std::size_t>(), py::arg("dimensions"),
             py::arg("capacity"), py::arg("links"), py::arg("build_width"), py::arg("seed"))
        .def_static("load", &Kernel::load, py::arg("path"), py::arg("dimensions"), py::arg("capacity"))
        .def("add", &Kernel::add)
        .def("search", &Kernel::search)
        .def("row", &Kernel::row)
        .def("mark_deleted", &Kernel::mark_deleted)
        .def("resize", &Kernel::resize)
        .def("save", &Kernel::save)
        .def("file_bytes", &Kernel::file_bytes)
        .def("memory_bytes", &Kernel::memory_bytes)
        .def_property_readonly("capacity", &Kernel::capacity)
        .def_property("width", &Kernel::width, &Kernel::set_width)
        .def("__len__", &Kernel::size);
    py::class_<hnswlib::RowTable>(m, "RowTable")
        .def(py::init<std::size_t>(), py::arg("dimensions"))
        .def("set", &hnswlib::RowTable::set)
        .def("clear", &hnswlib::RowTable::clear)
        .def("row", &hnswlib::RowTable::row)
        .def("scan", &hnswlib::RowTable::scan)
        .def("memory_bytes", &hnswlib::RowTable::memory_bytes)
        .def("__len__", &hnswlib::RowTable::size);
}
